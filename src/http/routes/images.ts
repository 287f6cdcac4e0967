import { failure } from '../../canonical/failure/failure.ts';
import { projectImages, renderImages, type ImagesMeta } from '../../openai/images/answer.ts';
import { editBodyOf } from '../../openai/images/form.ts';
import { onlyImages } from '../../openai/images/only-images.ts';
import { toEditTurn, toImageTurn, type ImageAsk, type ImageOptions } from '../../openai/images/to-turn.ts';
import type { Endpoint, RequestContext, ParsedRequest } from '../turn/endpoint.ts';
import { commonAsk } from './common-ask.ts';

const GENERATIONS = '/v1/images/generations';
const EDITS = '/v1/images/edits';

export interface ImagesOptions {
  readonly chatModel: ImageOptions['chatModel'];
  readonly usagePolicy: ImagesMeta['usagePolicy'];
}

/** New images. */
export const imagesEndpoint = (options: ImagesOptions): Endpoint => ({
  path: GENERATIONS,
  read(body, context) {
    const read = toImageTurn(body, { models: context.models, chatModel: options.chatModel });
    return imageAsk(read, 'image_generation', { path: GENERATIONS, context, options });
  },
});

/** Images made of others. */
export const imageEditsEndpoint = (options: ImagesOptions): Endpoint => ({
  path: EDITS,
  bodyOf: editBodyOf,
  read(body, context) {
    const read = toEditTurn(body, { models: context.models, chatModel: options.chatModel });
    return imageAsk(read, 'image_edit', { path: EDITS, context, options });
  },
});

interface Served {
  readonly path: string;
  readonly context: RequestContext;
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
    ...commonAsk(read, context.headers),
    formatPlace: 'prompt',
    withoutTool: (why) =>
      failure('endpoint_not_supported', {
        message: `POST ${path} is not supported: it needs a tool that ${why}.`,
      }),
    arrange: onlyImages,
    render: (turns) => renderImages(turns, meta),
    project: (replies) => projectImages(replies, meta),
  };
};
