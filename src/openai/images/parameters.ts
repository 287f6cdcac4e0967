import type { ParameterRow, ParameterTable } from '../../apis/parameters.ts';
import type { CreateImage, EditImage } from './schema.ts';

const OF_THE_TOOL: ParameterRow = {
  policy: 'mapped',
  note: 'A setting of the image tool, as the client wrote it: the backend knows which values there are.',
};

const COMMON = {
  prompt: {
    policy: 'mapped',
    note: 'The message of a user. A line of instructions in front of it asks the chat model to pass it on to the image tool unchanged; that line is all that is added. Without the relay the whole request gets a 404.',
  },
  model: {
    policy: 'mapped',
    note: 'The image model. A ChatGPT login chooses its own, and `dall-e-…` is retired: then it is named as ignored. The chat model that runs the tool is `PROXY_IMAGE_MODEL`.',
  },
  n: { policy: 'mapped', note: '1 to 10. Each image is a turn of its own.' },
  size: OF_THE_TOOL,
  quality: {
    policy: 'mapped',
    note: 'A setting of the image tool. The words of DALL·E mean `auto` (`standard`) and `high` (`hd`).',
  },
  background: OF_THE_TOOL,
  output_format: OF_THE_TOOL,
  output_compression: OF_THE_TOOL,
  moderation: OF_THE_TOOL,
  complexity: OF_THE_TOOL,
  frame_count: OF_THE_TOOL,
  frame_duration_ms: OF_THE_TOOL,
  response_format: {
    policy: 'rejected',
    note: 'Images are not stored, so they have no URL: only `b64_json` is answered.',
  },
  stream: { policy: 'mapped', note: '' },
  partial_images: {
    policy: 'mapped',
    note: '0 to 3, in a stream; in a JSON answer it is named as ignored.',
  },
  user: { asks: ['user'], note: '' },
  safety_identifier: { asks: ['safetyIdentifier'], note: '' },
} as const satisfies Record<string, ParameterRow>;

/** How each field of an image request is handled. */
export const IMAGE_PARAMETERS: ParameterTable<CreateImage> = {
  ...COMMON,
  style: { policy: 'ignored', note: 'A setting of DALL·E.' },
  svg: OF_THE_TOOL,
};

/** How each field of an image edit request is handled. */
export const IMAGE_EDIT_PARAMETERS: ParameterTable<EditImage> = {
  ...COMMON,
  image: {
    policy: 'mapped',
    note: 'In a form: one file, or up to 16 as `image[]`. PNG, JPEG, GIF or WebP.',
  },
  images: {
    policy: 'mapped',
    note: 'In JSON: up to 16 of `{"image_url"}`, a data URL or an http or https URL. `file_id` gets a 400.',
  },
  mask: { policy: 'mapped', note: 'A file in a form, `{"image_url"}` in JSON.' },
  input_fidelity: OF_THE_TOOL,
};
