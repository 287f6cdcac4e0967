import { failure } from '../../canonical/failure/failure.ts';
import { projectImages, renderImages, type ImagesMeta } from './answer.ts';
import { editBodyOf } from './form.ts';
import { onlyImages } from './only-images.ts';
import { toEditTurn, toImageTurn, type ImageAsk, type ImageOptions } from './to-turn.ts';
import type { Api, ParseContext, ParsedRequest } from '../../turns/api.ts';
import { commonFields } from '../shared/common-fields.ts';

const GENERATIONS = '/v1/images/generations';
const EDITS = '/v1/images/edits';

export interface ImagesOptions {
  readonly chatModel: ImageOptions['chatModel'];
  readonly usagePolicy: ImagesMeta['usagePolicy'];
}

/** New images. */
export const imagesApi = (options: ImagesOptions): Api => ({
  path: GENERATIONS,
  read(body, context) {
    const read = toImageTurn(body, { models: context.models, chatModel: options.chatModel });
    return imageAsk(read, 'image_generation', { path: GENERATIONS, context, options });
  },
});

/** Images made of others. */
export const imageEditsApi = (options: ImagesOptions): Api => ({
  path: EDITS,
  bodyOf: editBodyOf,
  read(body, context) {
    const read = toEditTurn(body, { models: context.models, chatModel: options.chatModel });
    return imageAsk(read, 'image_edit', { path: EDITS, context, options });
  },
});

interface Served {
  readonly path: string;
  readonly context: ParseContext;
  readonly options: ImagesOptions;
}

const imageAsk = (read: ImageAsk, prefix: ImagesMeta['prefix'], served: Served): ParsedRequest => {
  const { context, options, path } = served;
  const { background, output_format, quality, size } = read.given;
  const meta: ImagesMeta = {
    prefix,
    createdAt: Math.floor(context.ambient.clock.now() / 1000),
    asked: { background, output_format, quality, size },
    usagePolicy: options.usagePolicy,
  };
  return {
    ...commonFields(read, context.headers),
    formatPlace: 'prompt',
    withoutTool: (why) =>
      failure('endpoint_not_supported', {
        message: `POST ${path} is not supported here: it needs a tool that ${why}.`,
      }),
    arrange: onlyImages,
    render: (turns) => renderImages(turns, meta),
    project: (replies) => projectImages(replies, meta),
  };
};
