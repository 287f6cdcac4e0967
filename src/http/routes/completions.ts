import { arrange } from '../../openai/chat/arrange.ts';
import { projectCompletion, renderCompletion, type CompletionMeta } from '../../openai/completions/answer.ts';
import { toTurnRequest } from '../../openai/completions/to-turn.ts';
import { parameterName } from '../../openai/parameter-names.ts';
import type { Endpoint } from '../endpoint.ts';

export interface CompletionsOptions {
  readonly usagePolicy: CompletionMeta['usagePolicy'];
}

/** The API before chat, for the clients that still use it. */
export const completionsEndpoint = (options: CompletionsOptions): Endpoint => ({
  path: '/v1/completions',
  read(body, { ambient, models }) {
    const { given, request, ignored, names } = toTurnRequest(body, { models });
    const meta: CompletionMeta = {
      id: ambient.ids.mint('cmpl').replace('_', '-'),
      createdAt: Math.floor(ambient.clock.now() / 1000),
      model: given.model,
      includeUsage: given.stream_options?.include_usage ?? false,
      usagePolicy: options.usagePolicy,
    };
    return {
      request,
      choices: given.n ?? 1,
      model: given.model,
      stream: given.stream ?? false,
      ignored,
      nameOf: (path) => parameterName(path, names),
      formatPlace: 'prompt',
      arrange: (events) => arrange(events, { showReasoning: false, showCommentary: true }),
      render: (turns) => renderCompletion(turns, meta),
      project: (replies) => projectCompletion(replies, meta),
    };
  },
});
