import { failure } from '../../canonical/failure/failure.ts';
import { projectImages, renderImages, type ImagesMeta } from './answer.ts';
import { editBodyOf } from './form.ts';
import { onlyImages } from './only-images.ts';
import { toEditTurn, toImageTurn, type ParsedImage, type ImageOptions } from './to-turn.ts';
import type { Api } from '../../turns/api.ts';
import { openaiErrors } from '../shared/error-body.ts';
import { commonFields } from '../../apis/common-fields.ts';

const GENERATIONS = '/v1/images/generations';
const EDITS = '/v1/images/edits';

export interface ImagesOptions {
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
