import { commonFields, type AnswerLimits } from '../../apis/common-fields.ts';
import type { Api } from '../../turns/api.ts';
import { anthropicErrors } from '../errors.ts';
import { toTurnRequest, type ParsedMessages } from './input/to-turn.ts';
import { arrange } from './output/arrange.ts';
import type { MessagesMeta } from './output/meta.ts';
import { projectMessage } from './output/project.ts';
import { PING, renderMessage } from './output/render.ts';
import type { Signer } from './reasoning/signer.ts';
import { readReasoning } from './reasoning/thinking-block.ts';

export const MESSAGES_PATH = '/v1/messages';

export interface MessagesOptions extends AnswerLimits {
  readonly ignoreClientPrompt: boolean;
  readonly signer: Signer;
  /** Names the backend and its account. */
  readonly origin: () => string;
}

/** Anthropic's Messages API. */
export const messagesApi = (options: MessagesOptions): Api<ParsedMessages, MessagesMeta> => ({
  path: MESSAGES_PATH,
  parse(body, { models }) {
    const { ignoreClientPrompt, signer, origin } = options;
    const source = { signer, origin: origin() };
    return toTurnRequest(body, {
      models,
      ignoreClientPrompt,
      isCount: false,
      readReasoning: (block) => readReasoning(block, source),
    });
  },
  toTurn(read, _, { headers, ambient }) {
    const { parsed, session, formatPlace, thinking } = read;
    const meta: MessagesMeta = {
      id: ambient.ids.mint('msg'),
      model: parsed.model,
      thinking,
      origin: options.origin(),
    };
    return {
      ...commonFields(read, headers, options),
      session,
      formatPlace,
      arrange: (events) => arrange(events, meta),
      meta,
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
  render: (meta, [events]) => renderMessage(events, meta, options.signer),
  project: (meta, [reply]) => projectMessage(reply, meta, options.signer),
});
