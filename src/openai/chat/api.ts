import { arrangeChat, renderChat } from './render.ts';
import { asFunctionCalls } from './tools.ts';
import { projectChat, type ChatMeta } from './project.ts';
import { sideRequestOf } from '../clients/side-request.ts';
import { chatToTurn, type ParsedChat } from './to-turn.ts';
import { dialectOf, toApiDialect, type DialectSettings } from '../dialects/dialect.ts';
import type { Api } from '../../turns/api.ts';
import { openaiErrors } from '../shared/error-body.ts';
import { commonFields, type AnswerLimits } from '../../apis/common-fields.ts';

export interface ChatOptions extends AnswerLimits {
  readonly usagePolicy: ChatMeta['usagePolicy'];
  readonly ignoreClientPrompt: boolean;
  /** Whether answers include reasoning summaries, as `reasoning_content` and `reasoning`. */
  readonly showReasoning: boolean;
  readonly dialect: DialectSettings;
  /** Whether this server stores completions. */
  readonly stores: boolean;
}

const CHAT_PATH = '/v1/chat/completions';

/** Chat completions. */
export const chatApi = (options: ChatOptions): Api<ParsedChat, ChatMeta> => ({
  path: CHAT_PATH,
  parse: (body, { models }) => chatToTurn(body, { models, ignoreClientPrompt: options.ignoreClientPrompt }),
  toTurn(read, _, { headers, ambient }) {
    const { parsed, request, isLegacy, sentAsFunctions, formatPlace, stored } = read;
    const common = commonFields(read, headers, options);
    const { client } = common;
    const dialect = dialectOf({ headers, client, request, settings: options.dialect, ids: ambient.ids });
    const shown = { showReasoning: options.showReasoning, showCommentary: request.format.kind === 'text' };
    // OpenAI's chat ids have a dash instead of an underscore.
    const id = ambient.ids.mint('chatcmpl').replace('_', '-');
    const createdAt = Math.floor(ambient.clock.now() / 1000);
    const keeps =
      stored !== null && options.stores ? { kind: 'chat' as const, id, createdAt, ...stored } : null;
    return {
      ...common,
      ...(keeps === null ? {} : { keeps }),
      ignored: stored !== null && keeps === null ? [...common.ignored, 'store'] : common.ignored,
      dialect: toApiDialect(dialect, ambient.clock),
      sideRequest: sideRequestOf(request, common.choices, client),
      formatPlace,
      arrange: (events) => dialect.transform(arrangeChat(asFunctionCalls(events, sentAsFunctions), shown)),
      meta: {
        id,
        createdAt,
        model: parsed.model,
        serviceTier: request.serviceTier,
        isLegacy,
        isAlsoLegacy: !isLegacy && dialect.chosen.mode === 'obsidian-xml',
        includeUsage: parsed.stream_options?.include_usage ?? false,
        usagePolicy: options.usagePolicy,
      },
    };
  },
  errors: openaiErrors,
  render: (meta, turns) => renderChat(turns, meta),
  project: (meta, replies) => projectChat(replies, meta),
});
