import { failure, gatewayError } from '../../canonical/failure/failure.ts';
import { projectImages, renderImages, type ImagesMeta, onlyImages } from './answer.ts';
import { toEditTurn, toImageTurn, type ParsedImage, type ImageOptions } from './to-turn.ts';
import type { Api, FormEntry } from '../../turns/api.ts';
import { openaiErrors } from '../shared/error-body.ts';
import { commonFields } from '../../apis/common-fields.ts';
import type { Json, JsonObject } from '../../kit/json/json.ts';
import { quoted } from '../../kit/text/display.ts';

const GENERATIONS = '/v1/images/generations';
const EDITS = '/v1/images/edits';

interface ImagesOptions {
  readonly chatModel: ImageOptions['chatModel'];
  readonly usagePolicy: ImagesMeta['usagePolicy'];
}

/** Image generation. */
export const imagesApi = (options: ImagesOptions): ImageApi => ({
  ...imageApi(GENERATIONS, 'image_generation', options),
  parse: (body, { models }) => toImageTurn(body, { models, chatModel: options.chatModel }),
});

/** Image edits. */
export const imageEditsApi = (options: ImagesOptions): ImageApi => ({
  ...imageApi(EDITS, 'image_edit', options),
  bodyOf: editBodyOf,
  parse: (body, { models }) => toEditTurn(body, { models, chatModel: options.chatModel }),
});

type ImageApi = Api<ParsedImage, ImagesMeta>;

/** The parts that both APIs share. */
const imageApi = (
  path: string,
  prefix: ImagesMeta['prefix'],
  { usagePolicy }: ImagesOptions,
): Omit<ImageApi, 'parse'> => ({
  path,
  toTurn(read, _, { headers, ambient }) {
    const { background, output_format, quality, size } = read.parsed;
    return {
      ...commonFields(read, headers),
      formatPlace: 'prompt',
      withoutTool: (why) =>
        failure('endpoint_not_supported', {
          message: `POST ${path} is not supported: it needs a tool that ${why}.`,
        }),
      arrange: onlyImages,
      meta: {
        prefix,
        createdAt: Math.floor(ambient.clock.now() / 1000),
        requested: { background, output_format, quality, size },
        usagePolicy,
      },
    };
  },
  errors: openaiErrors,
  render: (meta, turns) => renderImages(turns, meta),
  project: (meta, replies) => projectImages(replies, meta),
});

/** Clients send `image` for one file, and `image[]` or `image[0]` for several. */
const IMAGE = /^image(?:\[\d*\])?$/;
const NUMBERS: ReadonlySet<string> = new Set([
  'n',
  'output_compression',
  'partial_images',
  'frame_count',
  'frame_duration_ms',
]);

/** Converts a form to the equivalent JSON body. */
export const editBodyOf = (entries: readonly FormEntry[]): JsonObject => {
  const images: Json[] = [];
  const fields = new Map<string, Json>();
  for (const entry of entries) {
    if (IMAGE.test(entry.name)) {
      images.push(fileOf(entry));
      continue;
    }
    const { name } = entry;
    if (fields.has(name)) {
      throw gatewayError('invalid_value', {
        param: name,
        message: `Invalid '${quoted(name)}': the form has more than one part with this name.`,
      });
    }
    fields.set(name, name === 'mask' ? fileOf(entry) : valueOf(entry));
  }
  return { ...Object.fromEntries(fields), image: images };
};

const fileOf = ({ name, value, isFile }: FormEntry): JsonObject => {
  if (isFile) return { image_url: value };
  throw gatewayError('invalid_type', {
    param: name,
    message: `Invalid type for '${quoted(name)}': expected a file, but got text instead.`,
  });
};

/** Converts numbers and booleans. Invalid ones stay text, so that validation reports them. */
const valueOf = ({ name, value }: FormEntry): Json => {
  if (NUMBERS.has(name)) return /^-?\d+$/.test(value) ? Number(value) : value;
  if (name === 'stream' && (value === 'true' || value === 'false')) return value === 'true';
  return value;
};
