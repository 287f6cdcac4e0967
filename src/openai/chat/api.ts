import { arrange } from './arrange.ts';
import { asFunctionCalls } from './function-envelope.ts';
import { projectChat, type ChatMeta } from './project.ts';
import { renderChat } from './render.ts';
import { sideRequestOf } from '../clients/side-request.ts';
import { toTurnRequest } from './to-turn.ts';
import { dialectOf, type DialectSettings } from '../dialects/dialect.ts';
import type { Api } from '../../turns/api.ts';
import { commonFields, type AnswerLimits } from '../shared/common-fields.ts';

export interface ChatOptions extends AnswerLimits {
  readonly usagePolicy: ChatMeta['usagePolicy'];
  readonly ignoreClientPrompt: boolean;
  /** Whether reasoning summaries are told, as `reasoning_content` and `reasoning`. */
  readonly showReasoning: boolean;
  readonly dialect: DialectSettings;
}

export const chatApi = (options: ChatOptions): Api => ({
  path: '/v1/chat/completions',
  read(body, { headers, ambient, models }) {
    const read = toTurnRequest(body, {
      models,
      ignoreClientPrompt: options.ignoreClientPrompt,
    });
    const { given, request, isLegacy, toldAsFunctions, formatPlace } = read;
    const common = commonFields(read, headers, options);
    const { client } = common;
    const dialect = dialectOf({ headers, client, request, settings: options.dialect, ids: ambient.ids });
    const meta: ChatMeta = {
      // OpenAI writes a dash where other ids have an underscore.
      id: ambient.ids.mint('chatcmpl').replace('_', '-'),
      createdAt: Math.floor(ambient.clock.now() / 1000),
      model: given.model,
      serviceTier: request.serviceTier,
      isLegacy,
      isAlsoLegacy: !isLegacy && dialect.chosen.mode === 'obsidian-xml',
      includeUsage: given.stream_options?.include_usage ?? false,
      usagePolicy: options.usagePolicy,
    };
    const shown = { showReasoning: options.showReasoning, showCommentary: request.format.kind === 'text' };
    return {
      ...common,
      dialect,
      sideRequest: sideRequestOf(request, common.choices, client),
      formatPlace,
      arrange: (events) => dialect.tell(arrange(asFunctionCalls(events, toldAsFunctions), shown)),
      render: (turns) => renderChat(turns, meta),
      project: (replies) => projectChat(replies, meta),
    };
  },
});
