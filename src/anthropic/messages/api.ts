import { commonFields, type AnswerLimits } from '../../apis/common-fields.ts';
import type { Api } from '../../turns/api.ts';
import { anthropicErrors } from '../errors.ts';
import { toTurnRequest, type ParsedMessages } from './input/to-turn.ts';
import { arrange } from './output/arrange.ts';
import type { MessagesMeta } from './output/meta.ts';
import { projectMessage } from './output/project.ts';
import { PING, renderMessage } from './output/render.ts';

export const MESSAGES_PATH = '/v1/messages';

export interface MessagesOptions extends AnswerLimits {
  readonly ignoreClientPrompt: boolean;
}

/** Anthropic's Messages API. */
export const messagesApi = (options: MessagesOptions): Api<ParsedMessages, MessagesMeta> => ({
  path: MESSAGES_PATH,
  parse: (body, { models }) =>
    toTurnRequest(body, { models, ignoreClientPrompt: options.ignoreClientPrompt, isCount: false }),
  toTurn(read, _, { headers, ambient }) {
    const { parsed, session, formatPlace } = read;
    return {
      ...commonFields(read, headers, options),
      session,
      formatPlace,
      arrange,
      meta: { id: ambient.ids.mint('msg'), model: parsed.model },
    };
  },
  count: {
    path: `${MESSAGES_PATH}/count_tokens`,
    parse: (body, { models }) =>
      toTurnRequest(body, { models, ignoreClientPrompt: options.ignoreClientPrompt, isCount: true }),
    project: (tokens) => ({ input_tokens: tokens }),
  },
  keepalive: PING,
  errors: anthropicErrors,
  render: (meta, [events]) => renderMessage(events, meta),
  project: (meta, [reply]) => projectMessage(reply, meta),
});
