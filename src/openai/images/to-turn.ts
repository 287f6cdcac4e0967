import { gatewayError } from '../../canonical/failure/failure.ts';
import type { ImagePart, Part } from '../../canonical/request/item.ts';
import type { ModelNames, ResolvedModel } from '../../canonical/models/model-names.ts';
import type { HostedTool } from '../../canonical/request/tool.ts';
import { PLAIN_REQUEST } from '../../canonical/request/turn-request.ts';
import { present, type Json } from '../../kit/json/json.ts';
import { bodyObject } from '../chat/common.ts';
import { CHAT_SETTINGS } from '../chat/parameter-names.ts';
import type { ReadBody } from '../../apis/common-fields.ts';
import type { ParameterNames } from '../../apis/parameter-names.ts';
import { namesWhere, unreadFields } from '../../apis/unread-fields.ts';
import { missing, parseBody } from '../../apis/validation.ts';
import { IMAGE_PARAMETERS } from './parameters.ts';
import {
  createImageSchema,
  editImageSchema,
  type CreateImage,
  type EditImage,
  type ImageRef,
} from './schema.ts';

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

interface Translated {
  readonly options: ImageOptions;
  readonly unread: readonly string[];
  readonly parts: readonly ImagePart[];
  readonly tool: HostedTool;
  readonly names: ParameterNames;
}

const toTurn = (parsed: CreateImage | EditImage, translated: Translated): ParsedImage => {
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
