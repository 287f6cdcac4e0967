import { arrange } from '../../openai/chat/arrange.ts';
import { projectCompletion, renderCompletion, type CompletionMeta } from '../../openai/completions/answer.ts';
import { toTurnRequest } from '../../openai/completions/to-turn.ts';
import type { Endpoint } from '../endpoint.ts';
import { commonAsk } from './common-ask.ts';

export interface CompletionsOptions {
  readonly usagePolicy: CompletionMeta['usagePolicy'];
}

/** The API before chat, for the clients that still use it. */
export const completionsEndpoint = (options: CompletionsOptions): Endpoint => ({
  path: '/v1/completions',
  read(body, { headers, ambient, models }) {
    const read = toTurnRequest(body, { models });
    const { given } = read;
    const meta: CompletionMeta = {
      id: ambient.ids.mint('cmpl').replace('_', '-'),
      createdAt: Math.floor(ambient.clock.now() / 1000),
      model: given.model,
      includeUsage: given.stream_options?.include_usage ?? false,
      usagePolicy: options.usagePolicy,
    };
    return {
      ...commonAsk(read, headers),
      formatPlace: 'prompt',
      arrange: (events) => arrange(events, { showReasoning: false, showCommentary: true }),
      render: (turns) => renderCompletion(turns, meta),
      project: (replies) => projectCompletion(replies, meta),
    };
  },
});
