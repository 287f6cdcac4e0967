import { messagesApi, type MessagesOptions } from '../anthropic/messages/api.ts';
import type { Config } from '../config/schema.ts';
import { transportFor } from '../engine/prose-tools/prose-engine.ts';
import type { Metrics } from '../observe/metrics.ts';
import { chatApi } from '../openai/chat/api.ts';
import { completionsApi } from '../openai/completions/api.ts';
import type { DialectSettings } from '../openai/dialects/dialect.ts';
import { imageEditsApi, imagesApi } from '../openai/images/api.ts';
import { responsesApi, compactionApi } from '../openai/responses/api.ts';
import { reviewsApi } from '../openai/reviews/api.ts';
import type { ThreadedTokenizer } from '../tokenizer/threaded-tokenizer.ts';
import type { Api } from '../turns/api.ts';

interface ApiDeps extends Pick<MessagesOptions, 'signer'> {
  readonly tokenizer: Pick<ThreadedTokenizer, 'textOf'>;
}

/** The APIs that run turns, as configured. A new API is registered here. */
export const apisOf = (
  config: Config,
  metrics: Pick<Metrics, 'xmlNativeOnly'>,
  { tokenizer, ...messages }: ApiDeps,
): readonly Api[] => {
  const onNativeOnly: DialectSettings['onNativeOnly'] = (reason) => metrics.xmlNativeOnly.inc({ reason });
  const { outputMode, responsesOutputMode } = config.clients;
  return [
    ...[responsesApi, compactionApi].map((api) =>
      api({
        layout: config.api.responsesLayout,
        usagePolicy: config.api.usagePolicy,
        stores: config.state.store === 'on',
        ignoreClientPrompt: config.api.ignoreClientSystemPrompt,
        parallelCalls: config.tools.parallelCalls,
        omitsTools: (model) =>
          config.api.omitToolManifest && transportFor(config.api.toolTransport, model) === 'native',
        dialect: { ...config.clients, mode: responsesOutputMode ?? outputMode, onNativeOnly },
      }),
    ),
    chatApi({
      usagePolicy: config.api.usagePolicy,
      ignoreClientPrompt: config.api.ignoreClientSystemPrompt,
      showReasoning: config.api.chatReasoning,
      stores: config.state.store === 'on',
      parallelCalls: config.tools.parallelCalls,
      dialect: { ...config.clients, mode: outputMode, onNativeOnly },
    }),
    messagesApi({
      stores: config.state.store === 'on',
      ignoreClientPrompt: config.api.ignoreClientSystemPrompt,
      parallelCalls: config.tools.parallelCalls,
      ...messages,
    }),
    completionsApi({
      usagePolicy: config.api.usagePolicy,
      textOf: (tokens, by) => tokenizer.textOf(tokens, by),
    }),
    reviewsApi({ usagePolicy: config.api.usagePolicy }),
    ...[imagesApi, imageEditsApi].map((api) =>
      api({ chatModel: config.images.chatModel, usagePolicy: config.api.usagePolicy }),
    ),
  ];
};
