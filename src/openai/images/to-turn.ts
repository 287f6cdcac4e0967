import { z } from 'zod';

import { gatewayError } from '../../canonical/failure/failure.ts';
import type { ImagePart, Part } from '../../canonical/request/item.ts';
import type { ModelNames, ResolvedModel } from '../../canonical/models/model-names.ts';
import type { HostedTool } from '../../canonical/request/tool.ts';
import { PLAIN_REQUEST } from '../../canonical/request/turn-request.ts';
import { present, type Json } from '../../kit/json/json.ts';
import { bodyObject } from '../chat/common.ts';
import { CHAT_SETTINGS } from '../chat/parameters.ts';
import type { ReadBody } from '../../apis/common-fields.ts';
import type { ParameterNames, ParameterRow, ParameterTable } from '../../apis/parameters.ts';
import { namesWhere, unreadFields, missing, parseBody } from '../../apis/validation.ts';
import { jsonObject, listOf } from '../../apis/bounds.ts';

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

/** OpenAI's limits. */
const MAX_PROMPT = 32_000;
const MAX_IMAGES = 10;
const MAX_INPUT_IMAGES = 16;

/** Supported values depend on the image model, so the backend checks them. */
const word = z.string().min(1).max(100);

const imageFields = {
  prompt: z.string().min(1).max(MAX_PROMPT),
  model: word.nullish(),
  n: z.int().min(1).max(MAX_IMAGES).nullish(),
  size: word.nullish(),
  quality: word.nullish(),
  background: word.nullish(),
  output_format: word.nullish(),
  output_compression: z.int().min(0).max(100).nullish(),
  moderation: word.nullish(),
  complexity: word.nullish(),
  frame_count: z.int().min(1).nullish(),
  frame_duration_ms: z.int().min(1).nullish(),
  response_format: z.enum(['url', 'b64_json']).nullish(),
  stream: z.boolean().nullish(),
  partial_images: z.int().min(0).max(3).nullish(),
  user: z.string().nullish(),
  safety_identifier: z.string().nullish(),
};

/** `CreateImageRequest`. Every key here needs a row in `parameters.ts`: the compiler asks for it. */
const createImageSchema = z.object({
  ...imageFields,
  style: word.nullish(),
  svg: jsonObject.nullish(),
});

const imageRef = z.object({ image_url: z.string().nullish(), file_id: z.string().nullish() });

/** `EditImageBodyJsonParam`; a form uses `image` instead of `images`. */
const editImageSchema = z.object({
  ...imageFields,
  images: listOf(imageRef, MAX_INPUT_IMAGES).nullish(),
  image: listOf(imageRef, MAX_INPUT_IMAGES).nullish(),
  mask: imageRef.nullish(),
  input_fidelity: word.nullish(),
});

type CreateImage = z.output<typeof createImageSchema>;
type EditImage = z.output<typeof editImageSchema>;
type ImageRef = z.output<typeof imageRef>;

export interface ImageOptions {
  readonly models: ModelNames;
  /** The chat model that runs the image tool. */
  readonly chatModel: string;
}

export type ParsedImage = ReadBody<(CreateImage | EditImage) & { readonly model: string }>;

/** Tells the chat model to pass the prompt on unchanged. It is the only text that this server adds to a prompt. */
export const INSTRUCTIONS =
  "Call the image generation tool once, with the user's message as the prompt, word for word. Do nothing else.";

const TYPE = 'image_generation';

/** Converts an image request to a turn that must call the backend's image tool. */
export const toImageTurn = (body: unknown, options: ImageOptions): ParsedImage => {
  const object = bodyObject(body);
  const parsed = parseBody(createImageSchema, object);
  return toTurn(parsed, {
    options,
    unread: unreadFields(createImageSchema, object, ''),
    parts: [],
    tool: toolOf(parsed, { svg: parsed.svg }),
    names: namesOf('images'),
  });
};

/** Converts an edit request, with the images after the prompt. */
export const toEditTurn = (body: unknown, options: ImageOptions): ParsedImage => {
  const object = bodyObject(body);
  const parsed = parseBody(editImageSchema, object);
  const place = parsed.image ? 'image' : 'images';
  const images = (parsed.image ?? parsed.images ?? []).map((ref, index) =>
    imageOf(ref, `${place}[${index}]`),
  );
  if (images.length === 0) throw missing(place);
  const tool = toolOf(parsed, { action: 'edit', input_fidelity: parsed.input_fidelity });
  return toTurn(parsed, {
    options,
    unread: unreadFields(editImageSchema, object, ''),
    parts: images,
    tool: parsed.mask ? { ...tool, mask: imageOf(parsed.mask, 'mask') } : tool,
    names: namesOf(place),
  });
};

interface TranslatedImage {
  readonly options: ImageOptions;
  readonly unread: readonly string[];
  readonly parts: readonly ImagePart[];
  readonly tool: HostedTool;
  readonly names: ParameterNames;
}

const toTurn = (parsed: CreateImage | EditImage, translated: TranslatedImage): ParsedImage => {
  const { options, unread, parts, tool, names } = translated;
  if (parsed.response_format === 'url') {
    throw gatewayError('unsupported_value', {
      param: 'response_format',
      message: `Unsupported value: 'url'. ${IMAGE_PARAMETERS.response_format.note}`,
    });
  }
  const model = chatModelOf(options);
  const text: Part = { kind: 'text', text: parsed.prompt };
  return {
    parsed: { ...parsed, model: parsed.model ?? options.chatModel },
    names,
    ignored: [...unread, ...withoutEffect(parsed)],
    request: {
      ...PLAIN_REQUEST,
      model: model.model,
      instructions: INSTRUCTIONS,
      items: [{ kind: 'message', role: 'user', parts: [text, ...parts] }],
      tools: [tool],
      toolChoice: { mode: 'named', tool: { kind: 'hosted', raw: { type: TYPE } } },
      reasoning: { effort: model.effort, summary: null, context: null },
      serviceTier: model.serviceTier,
      user: parsed.user ?? null,
      safetyIdentifier: parsed.safety_identifier ?? null,
    },
  };
};

/** Passing a prompt on needs little reasoning; below `low`, some backends have no image tool. */
const LITTLE_EFFORT = 'low';

const chatModelOf = ({ models, chatModel }: ImageOptions): ResolvedModel => {
  const resolved = models.resolve(chatModel);
  if (resolved.effort !== null) return resolved;
  // A model that is known to support the effort has an alias for it.
  const { model, effort } = models.resolve(`${resolved.model}-${LITTLE_EFFORT}`);
  return model === resolved.model ? { ...resolved, effort } : resolved;
};

/** DALL·E's names for qualities. */
const QUALITIES: Readonly<Record<string, string>> = { standard: 'auto', hd: 'high' };

const isRetired = (model: string): boolean => model.startsWith('dall-e');

/** Fields that are settings of the tool, under the same name. */
const TOOL_FIELDS = [
  ...(['size', 'background', 'output_format', 'output_compression', 'moderation'] as const),
  ...(['complexity', 'frame_count', 'frame_duration_ms'] as const),
];

const toolOf = (parsed: CreateImage | EditImage, more: Record<string, Json | undefined>): HostedTool => {
  const { quality, stream, partial_images, model } = parsed;
  const fields = {
    ...Object.fromEntries(TOOL_FIELDS.map((name) => [name, parsed[name]])),
    quality: QUALITIES[quality ?? ''] ?? quality,
    partial_images: stream === true ? partial_images : null,
    ...more,
  };
  return {
    kind: 'hosted',
    raw: { type: TYPE, ...present(fields) },
    ...(typeof model === 'string' && !isRetired(model) ? { model } : {}),
  };
};

const imageOf = ({ image_url, file_id }: ImageRef, at: string): ImagePart => {
  if (typeof image_url === 'string') return { kind: 'image', url: image_url };
  if (typeof file_id !== 'string') throw missing(`${at}.image_url`);
  throw gatewayError('unsupported_value', {
    param: `${at}.file_id`,
    message: 'Uploaded files are not supported: there is no Files API. Send the image itself.',
  });
};

const withoutEffect = (parsed: CreateImage | EditImage): readonly string[] =>
  namesWhere({
    model: isRetired(parsed.model ?? ''),
    style: 'style' in parsed && parsed.style,
    partial_images: (parsed.partial_images ?? 0) > 0 && parsed.stream !== true,
  });

/** The first part of the message is the prompt; the images follow. */
const namesOf = (place: 'image' | 'images'): ParameterNames => ({
  settings: { ...CHAT_SETTINGS, instructions: 'prompt', items: 'prompt', 'reasoning.effort': 'model' },
  places: ['prompt'],
  part: ({ part }) => (part === 0 ? 'prompt' : `${place}[${part - 1}]`),
  tool: () => 'prompt',
  toolField: (_, field) => (field === 'input_image_mask' ? 'mask' : field),
  include: () => CHAT_SETTINGS.include,
  formatPlace: CHAT_SETTINGS.format,
});
