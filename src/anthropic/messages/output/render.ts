import type { TurnEnded, TurnEvent } from '../../../canonical/events/turn-event.ts';
import { failure, type Failure } from '../../../canonical/failure/failure.ts';
import { storeNote, usageNote } from '../../../apis/sse.ts';
import type { Frame } from '../../../turns/api.ts';
import { anthropicErrorBody } from '../../errors.ts';
import type { Signer } from '../reasoning/signer.ts';
import { BlockFrames } from './block-frames.ts';
import { messageFrame } from './message-frame.ts';
import type { MessagesMeta } from './meta.ts';
import { messageHead } from './project.ts';
import { hasRefused, stopFields } from './stop-reason.ts';
import { projectUsage } from './usage.ts';

/** Sent while the stream is silent. */
export const PING: Frame = messageFrame({ type: 'ping' });

/** Renders the events of a turn, whose items follow each other, as the events of a message. */
export async function* renderMessage(
  events: AsyncIterable<TurnEvent>,
  meta: MessagesMeta,
  signer: Signer,
): AsyncGenerator<Frame> {
  const message = { ...messageHead(meta), content: [], stop_reason: null, stop_sequence: null };
  yield messageFrame({ type: 'message_start', message: { ...message, usage: projectUsage(null) } });
  const blocks = new BlockFrames({ thinking: meta.thinking, source: { signer, origin: meta.origin } });
  let isRefused = false;
  for await (const event of events) {
    yield* blocks.next(event);
    if (event.type === 'item-ended') isRefused ||= hasRefused(event.item);
    if (event.type === 'turn-ended') yield* end(event, blocks.brokenCall, isRefused);
  }
}

/** A failed turn ends with an error, and without `message_stop`. */
function* end(event: TurnEnded, brokenCall: string | null, isRefused: boolean): Generator<Frame> {
  const { outcome, usage } = event;
  const failed =
    outcome.kind === 'failed' ? outcome.failure : brokenCall === null ? null : cutCall(event, brokenCall);
  if (failed !== null || outcome.kind === 'failed') {
    yield messageFrame(anthropicErrorBody(failed ?? failure('server_error')));
    return;
  }
  const ended = { type: 'message_delta', delta: stopFields(outcome, isRefused), usage: projectUsage(usage) };
  yield { ...messageFrame(ended), ...usageNote([event]) };
  yield { ...messageFrame({ type: 'message_stop' }), ...storeNote([event]) };
}

const cutCall = ({ outcome }: TurnEnded, name: string): Failure => {
  const isLimit = outcome.kind === 'incomplete' && outcome.reason === 'max_output_tokens';
  return failure('upstream_error', {
    message: isLimit
      ? `The answer reached max_tokens within the arguments of a call of the tool '${name}'. Ask again with a larger max_tokens.`
      : `The model's arguments of a call of the tool '${name}' are not complete JSON.`,
  });
};
