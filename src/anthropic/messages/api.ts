import { commonFields, type AnswerLimits } from '../../apis/common-fields.ts';
import type { ModelNames } from '../../canonical/models/model-names.ts';
import type { Api } from '../../turns/api.ts';
import { anthropicErrors } from '../errors.ts';
import { findModel } from '../model-names.ts';
import { restateFailure } from '../restate-failure.ts';
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

const read = (
  body: unknown,
  models: ModelNames,
  { options: { ignoreClientPrompt, signer, origin }, isCount }: Reading,
): ParsedMessages => {
  const source = { signer, origin: origin() };
  return toTurnRequest(body, {
    models,
    ignoreClientPrompt,
    isCount,
    readReasoning: (block) => readReasoning(block, source),
  });
};

interface Reading {
  readonly options: MessagesOptions;
  readonly isCount: boolean;
}

/** Anthropic's Messages API. */
export const messagesApi = (options: MessagesOptions): Api<ParsedMessages, MessagesMeta> => ({
  path: MESSAGES_PATH,
  parse: (body, { models }) => read(body, models, { options, isCount: false }),
  toTurn(body, _, { headers, ambient, models }) {
    const { parsed, session, formatPlace, thinking } = body;
    const meta: MessagesMeta = {
      id: ambient.ids.mint('msg'),
      model: parsed.model,
      thinking,
      origin: options.origin(),
    };
    return {
      ...commonFields(body, headers, options),
      session,
      formatPlace,
      arrange: (events) => arrange(events, meta),
      restate: restateFailure(findModel(models, parsed.model)),
      meta,
    };
  },
  count: {
    path: `${MESSAGES_PATH}/count_tokens`,
    parse: (body, { models }) => read(body, models, { options, isCount: true }),
    project: (tokens) => ({ input_tokens: tokens }),
  },
  keepalive: PING,
  errors: anthropicErrors,
  render: (meta, [events]) => renderMessage(events, meta, options.signer),
  project: (meta, [reply]) => projectMessage(reply, meta, options.signer),
});
