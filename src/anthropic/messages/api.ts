import { commonFields, type AnswerLimits } from '../../apis/common-fields.ts';
import type { Api } from '../../turns/api.ts';
import { anthropicErrors } from '../errors.ts';
import { findModel } from '../model-names.ts';
import { restateFailure } from '../restate-failure.ts';
import { readThread, type ThreadField } from './input/thread.ts';
import { toTurnRequest } from './input/to-turn.ts';
import { arrange } from './output/arrange.ts';
import type { MessagesMeta } from './output/meta.ts';
import { projectMessage } from './output/project.ts';
import { PING, renderMessage } from './output/render.ts';
import type { Signer } from './reasoning/signer.ts';
import { readReasoning } from './reasoning/thinking-block.ts';
import { withClientNames } from './tool-names.ts';

export const MESSAGES_PATH = '/v1/messages';

export interface MessagesOptions extends AnswerLimits {
  readonly ignoreClientPrompt: boolean;
  readonly signer: Signer;
  /** Whether this server stores threads. */
  readonly stores: boolean;
}

/** A body whose thread is known. The rest is read with the conversation that it continues. */
interface MessageBody extends ThreadField {
  readonly body: unknown;
  /** Only counted, so it need not have what an answer needs. */
  readonly isCount: boolean;
}

/** Anthropic's Messages API. */
export const messagesApi = (options: MessagesOptions): Api<MessageBody, MessagesMeta> => ({
  path: MESSAGES_PATH,
  parse: (body) => ({ body, isCount: false, ...readThread(body, options.stores) }),
  toTurn({ body, isCount, isThread }, { chain }, { headers, ambient, models }) {
    const { ignoreClientPrompt, signer } = options;
    const read = toTurnRequest(body, {
      models,
      ignoreClientPrompt,
      isCount,
      readReasoning: (block) => readReasoning(block, signer),
      chain,
    });
    const { parsed, session, formatPlace, thinking, input, clientNames, editsContext } = read;
    const id = ambient.ids.mint('msg');
    const meta: MessagesMeta = { id, model: parsed.model, thinking, editsContext };
    const createdAt = Math.floor(ambient.clock.now() / 1000);
    return {
      ...commonFields(read, headers, options),
      session,
      formatPlace,
      arrange: (events) => arrange(withClientNames(events, clientNames), meta),
      beginsWithUsage: true,
      restate: restateFailure(findModel(models, parsed.model)),
      meta,
      ...(isThread ? { keeps: { kind: 'message', id, createdAt, input } } : {}),
    };
  },
  count: {
    path: `${MESSAGES_PATH}/count_tokens`,
    parse: (body) => ({ body, isCount: true, ...readThread(body, options.stores) }),
    project: (tokens) => ({ input_tokens: tokens }),
  },
  keepalive: PING,
  errors: anthropicErrors,
  render: (meta, [events], inputTokens) => renderMessage(events, meta, options.signer, inputTokens),
  project: (meta, [reply]) => projectMessage(reply, meta, options.signer),
});
