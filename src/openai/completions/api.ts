import { arrange } from '../chat/arrange.ts';
import { projectCompletion, renderCompletion, type CompletionMeta } from './answer.ts';
import { modelOf, tokenPrompts, withTexts } from './token-prompts.ts';
import { toTurnRequest, type CompletionAsk } from './to-turn.ts';
import type { Api, WithReferences } from '../../turns/api.ts';
import { errorBody } from '../shared/error-body.ts';
import { commonFields } from '../shared/common-fields.ts';

export interface CompletionsOptions {
  readonly usagePolicy: CompletionMeta['usagePolicy'];
  /** The text of tokens in the encoding of a model; null: they cannot be decoded. */
  readonly textOf: (
    tokens: readonly number[],
    by: { readonly model: string; readonly caller: string },
  ) => Promise<string | null>;
}

/** The API before chat, for the clients that still use it. */
export const completionsApi = (options: CompletionsOptions): Api<ParsedBody, CompletionMeta> => ({
  path: '/v1/completions',
  async spellOut(body, { onBytes, caller }) {
    const prompts = tokenPrompts(body);
    if (prompts.length === 0) return body;
    const texts: (string | null)[] = [];
    for (const { tokens } of prompts) {
      const text = await options.textOf(tokens, { model: modelOf(body), caller });
      // A token of few digits may mean a hundred characters.
      onBytes(text?.length ?? 0);
      texts.push(text);
    }
    return withTexts(body, prompts, texts);
  },
  parse: (body, { models }) => ({ read: toTurnRequest(body, { models }), references: [] }),
  toTurn({ read }, _, { headers, ambient }) {
    const { given, further, prompts } = read;
    const common = commonFields(read, headers);
    return {
      ...common,
      further,
      formatPlace: 'prompt',
      arrange: (events) => arrange(events, { showReasoning: false, showCommentary: true }),
      meta: {
        id: ambient.ids.mint('cmpl').replace('_', '-'),
        createdAt: Math.floor(ambient.clock.now() / 1000),
        model: given.model,
        includeUsage: given.stream_options?.include_usage ?? false,
        echoes:
          given.echo === true
            ? prompts.flatMap((prompt) => Array.from({ length: common.choices }, () => prompt))
            : [],
        usagePolicy: options.usagePolicy,
      },
    };
  },
  render: (meta, turns) => renderCompletion(turns, meta),
  project: (meta, replies) => projectCompletion(replies, meta),
  errorBody,
});

interface ParsedBody extends WithReferences {
  readonly read: CompletionAsk;
}
