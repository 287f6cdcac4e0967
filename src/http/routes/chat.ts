import { arrange } from '../../openai/chat/arrange.ts';
import { asFunctionCalls } from '../../openai/chat/function-envelope.ts';
import { projectChat, type ChatMeta } from '../../openai/chat/project.ts';
import { renderChat } from '../../openai/chat/render.ts';
import { sideRequestOf } from '../../openai/clients/side-request.ts';
import { toTurnRequest } from '../../openai/chat/to-turn.ts';
import { dialectOf, type DialectSettings } from '../../openai/dialects/dialect.ts';
import type { Endpoint } from '../turn/endpoint.ts';
import { commonAsk, type AnswerLimits } from './common-ask.ts';

export interface ChatOptions extends AnswerLimits {
  readonly usagePolicy: ChatMeta['usagePolicy'];
  readonly ignoreClientPrompt: boolean;
  /** Whether reasoning summaries are returned, as `reasoning_content` and `reasoning`. */
  readonly showReasoning: boolean;
  readonly dialect: DialectSettings;
}

export const chatEndpoint = (options: ChatOptions): Endpoint => ({
  path: '/v1/chat/completions',
  read(body, { headers, ambient, models }) {
    const read = toTurnRequest(body, {
      models,
      ignoreClientPrompt: options.ignoreClientPrompt,
    });
    const { given, request, isLegacy, toldAsFunctions, formatPlace } = read;
    const common = commonAsk(read, headers, options);
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
      arrange: (events) => dialect.transform(arrange(asFunctionCalls(events, toldAsFunctions), shown)),
      render: (turns) => renderChat(turns, meta),
      project: (replies) => projectChat(replies, meta),
    };
  },
});
