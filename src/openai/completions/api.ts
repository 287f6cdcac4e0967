import { arrangeChat } from '../chat/render.ts';
import { projectCompletion, renderCompletion, type CompletionMeta } from './answer.ts';
import { modelOf, tokenPrompts, withTexts, completionToTurn, type ParsedCompletion } from './to-turn.ts';
import type { Api } from '../../turns/api.ts';
import { openaiErrors } from '../shared/error-body.ts';
import { commonFields } from '../../apis/common-fields.ts';

export interface CompletionsOptions {
  readonly usagePolicy: CompletionMeta['usagePolicy'];
  /** Decodes tokens in the encoding of a model; null if they are invalid. */
  readonly textOf: (
    tokens: readonly number[],
    by: { readonly model: string; readonly caller: string },
  ) => Promise<string | null>;
}

/** Legacy completions. */
export const completionsApi = (options: CompletionsOptions): Api<ParsedCompletion, CompletionMeta> => ({
  path: '/v1/completions',
  async spellOut(body, { onBytes, caller }) {
    const prompts = tokenPrompts(body);
    if (prompts.length === 0) return body;
    const texts: (string | null)[] = [];
    for (const { tokens } of prompts) {
      const text = await options.textOf(tokens, { model: modelOf(body), caller });
      // A token of a few digits may expand to a hundred characters.
      onBytes(text?.length ?? 0);
      texts.push(text);
    }
    return withTexts(body, prompts, texts);
  },
  parse: completionToTurn,
  toTurn(read, _, { headers, ambient }) {
    const { parsed, further, prompts } = read;
    const common = commonFields(read, headers);
    return {
      ...common,
      further,
      formatPlace: 'prompt',
      arrange: (events) => arrangeChat(events, { showReasoning: false, showCommentary: true }),
      meta: {
        id: ambient.ids.mint('cmpl').replace('_', '-'),
        createdAt: Math.floor(ambient.clock.now() / 1000),
        model: parsed.model,
        includeUsage: parsed.stream_options?.include_usage ?? false,
        echoes:
          parsed.echo === true
            ? prompts.flatMap((prompt) => Array.from({ length: common.choices }, () => prompt))
            : [],
        usagePolicy: options.usagePolicy,
      },
    };
  },
  errors: openaiErrors,
  render: (meta, turns) => renderCompletion(turns, meta),
  project: (meta, replies) => projectCompletion(replies, meta),
});
