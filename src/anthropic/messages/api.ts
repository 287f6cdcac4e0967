import { commonFields, type AnswerLimits } from '../../apis/common-fields.ts';
import type { Api } from '../../turns/api.ts';
import { anthropicErrors, restateFailure } from '../errors.ts';
import { findModel } from '../models.ts';
import { readThread, type ThreadField } from './input/thread.ts';
import { messagesToTurn } from './input/to-turn.ts';
import { type MessagesMeta, projectMessage, type ShownThinking } from './output/project.ts';
import { PING, renderMessage } from './output/render.ts';
import { type Signer, readReasoning } from './reasoning/thinking-block.ts';
import { withClientNames } from './tool-names.ts';
import { isMessage, isReasoning, isToolCall, type Produced } from '../../canonical/request/item.ts';
import { itemIdOf, type TurnEvent } from '../../canonical/events/turn-event.ts';
import { ItemQueue, NoLateSummaries } from '../../apis/arrange.ts';
import { isMcpCall, isWebSearch } from './output/blocks.ts';

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
    const read = messagesToTurn(body, {
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
      arrange: (events) => arrangeMessage(withClientNames(events, clientNames), meta),
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

/** Items that a message can show. */
const isShown = (head: Produced, { thinking }: ShownThinking): boolean =>
  isReasoning(head)
    ? thinking !== null
    : isMessage(head) || isToolCall(head) || isWebSearch(head) || isMcpCall(head);

/** One item after the other, in the order they started: a stream of messages has one block at a time. */
export async function* arrangeMessage(
  events: AsyncIterable<TurnEvent>,
  meta: ShownThinking,
): AsyncGenerator<TurnEvent> {
  const queue = new ItemQueue();
  const summaries = new NoLateSummaries();
  const hidden = new Set<string>();
  for await (const made of events) {
    const event = summaries.next(made);
    if (event === null) continue;
    const itemId = itemIdOf(event);
    if (event.type === 'item-started' && !isShown(event.item, meta)) hidden.add(event.item.id);
    if (itemId === null) yield event;
    else if (!hidden.has(itemId)) yield* queue.take(event, itemId);
  }
}
