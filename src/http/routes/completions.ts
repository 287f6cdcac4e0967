import { arrange } from '../../openai/chat/arrange.ts';
import { projectCompletion, renderCompletion, type CompletionMeta } from '../../openai/completions/answer.ts';
import { modelOf, tokenPrompts, withTexts } from '../../openai/completions/token-prompts.ts';
import { toTurnRequest } from '../../openai/completions/to-turn.ts';
import type { TokenUse } from '../../engine/tokenizer.ts';
import type { Endpoint } from '../turn/endpoint.ts';
import { commonAsk } from './common-ask.ts';

export interface CompletionsOptions {
  readonly usagePolicy: CompletionMeta['usagePolicy'];
  /** The text of tokens in the encoding of a model; null: they are not valid text. */
  readonly textOf: (tokens: readonly number[], by: TokenUse) => Promise<string | null>;
}

/** The API before chat, for the clients that still use it. */
export const completionsEndpoint = (options: CompletionsOptions): Endpoint => ({
  path: '/v1/completions',
  async spellOut(body, { onBytes, caller }) {
    const prompts = tokenPrompts(body);
    if (prompts.length === 0) return body;
    const texts: (string | null)[] = [];
    for (const { tokens } of prompts) {
      const text = await options.textOf(tokens, { model: modelOf(body), caller });
      // A token of a few digits may decode to a hundred characters.
      onBytes(text?.length ?? 0);
      texts.push(text);
    }
    return withTexts(body, prompts, texts);
  },
  read(body, { headers, ambient, models }) {
    const read = toTurnRequest(body, { models });
    const { given, further, prompts } = read;
    const common = commonAsk(read, headers);
    const meta: CompletionMeta = {
      id: ambient.ids.mint('cmpl').replace('_', '-'),
      createdAt: Math.floor(ambient.clock.now() / 1000),
      model: given.model,
      includeUsage: given.stream_options?.include_usage ?? false,
      echoes:
        given.echo === true
          ? prompts.flatMap((prompt) => Array.from({ length: common.choices }, () => prompt))
          : [],
      usagePolicy: options.usagePolicy,
    };
    return {
      ...common,
      further,
      formatPlace: 'prompt',
      arrange: (events) => arrange(events, { showReasoning: false, showCommentary: true }),
      render: (turns) => renderCompletion(turns, meta),
      project: (replies) => projectCompletion(replies, meta),
    };
  },
});
