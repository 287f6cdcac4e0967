import { arrange } from '../../openai/chat/arrange.ts';
import { projectChat, type ChatMeta } from '../../openai/chat/project.ts';
import { renderChat } from '../../openai/chat/render.ts';
import { toTurnRequest } from '../../openai/chat/to-turn.ts';
import { parameterName } from '../../openai/parameter-names.ts';
import type { Endpoint } from '../endpoint.ts';

export interface ChatOptions {
  readonly usagePolicy: ChatMeta['usagePolicy'];
  readonly ignoreClientPrompt: boolean;
  /** Whether reasoning summaries are told, as `reasoning_content`. */
  readonly showReasoning: boolean;
}

export const chatEndpoint = (options: ChatOptions): Endpoint => ({
  path: '/v1/chat/completions',
  read(body, { ambient, models }) {
    const { given, request, ignored, names, isLegacy } = toTurnRequest(body, {
      models,
      ignoreClientPrompt: options.ignoreClientPrompt,
    });
    const meta: ChatMeta = {
      // OpenAI writes a dash where other ids have an underscore.
      id: ambient.ids.mint('chatcmpl').replace('_', '-'),
      createdAt: Math.floor(ambient.clock.now() / 1000),
      model: given.model,
      serviceTier: request.serviceTier,
      isLegacy,
      includeUsage: given.stream_options?.include_usage ?? false,
      usagePolicy: options.usagePolicy,
    };
    const shown = { showReasoning: options.showReasoning, showCommentary: request.format.kind === 'text' };
    return {
      request,
      choices: given.n ?? 1,
      model: given.model,
      stream: given.stream ?? false,
      ignored,
      nameOf: (path) => parameterName(path, names),
      formatPlace: 'response_format.json_schema.schema',
      arrange: (events) => arrange(events, shown),
      render: (turns) => renderChat(turns, meta),
      project: (replies) => projectChat(replies, meta),
    };
  },
});
