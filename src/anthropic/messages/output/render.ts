import type { TurnEnded, TurnEvent } from '../../../canonical/events/turn-event.ts';
import type { Outcome } from '../../../canonical/events/outcome.ts';
import { failure, type Failure } from '../../../canonical/failure/failure.ts';
import { storeNote, usageNote } from '../../../apis/sse.ts';
import type { Frame, InputTokens } from '../../../turns/api.ts';
import { anthropicErrorBody } from '../../errors.ts';
import type { Signer } from '../reasoning/signer.ts';
import { BlockFrames } from './block-frames.ts';
import { messageFrame } from './message-frame.ts';
import type { MessagesMeta } from './meta.ts';
import { contextEdits, messageHead } from './project.ts';
import { hasRefused, stopFields } from './stop-reason.ts';
import { projectUsage } from './usage.ts';

/** Sent while the stream is silent. */
export const PING: Frame = messageFrame({ type: 'ping' });

/** Renders the events of a turn, whose items follow each other, as the events of a message. */
export async function* renderMessage(
  events: AsyncIterable<TurnEvent>,
  meta: MessagesMeta,
  signer: Signer,
  inputTokens?: InputTokens,
): AsyncGenerator<Frame> {
  const message = { ...messageHead(meta), content: [], stop_reason: null, stop_sequence: null };
  // The backend's numbers come at the end. Some clients read only these.
  const usage = { ...projectUsage(null), input_tokens: (await inputTokens?.()) ?? 0 };
  yield messageFrame({ type: 'message_start', message: { ...message, usage } });
  const blocks = new BlockFrames({ thinking: meta.thinking, signer });
  let isRefused = false;
  for await (const event of events) {
    yield* blocks.next(event);
    if (event.type === 'item-ended') isRefused ||= hasRefused(event.item);
    if (event.type === 'turn-ended') yield* end(event, blocks, { meta, isRefused });
  }
}

function* end(
  event: TurnEnded,
  blocks: BlockFrames,
  { meta, isRefused }: { readonly meta: MessagesMeta; readonly isRefused: boolean },
): Generator<Frame> {
  const { outcome, usage } = event;
  const failed = failureOf(outcome, blocks.brokenCall);
  if (failed !== null) {
    // A client must not take this for a whole message: `message_stop` does not follow.
    yield messageFrame(anthropicErrorBody(failed));
    return;
  }
  yield* blocks.rest();
  const ended = {
    type: 'message_delta',
    delta: stopFields(outcome, isRefused),
    usage: projectUsage(usage),
    ...contextEdits(meta),
  };
  yield { ...messageFrame(ended), ...usageNote([event]) };
  yield { ...messageFrame({ type: 'message_stop' }), ...storeNote([event]) };
}

const failureOf = (outcome: Outcome, brokenCall: string | null): Failure | null => {
  if (outcome.kind === 'failed') return outcome.failure;
  if (brokenCall === null) return null;
  const isLimit = outcome.kind === 'incomplete' && outcome.reason === 'max_output_tokens';
  return failure('upstream_error', {
    message: isLimit
      ? `The answer reached max_tokens within the arguments of a call of the tool '${brokenCall}'. Ask again with a larger max_tokens.`
      : `The model's arguments of a call of the tool '${brokenCall}' are not complete JSON.`,
  });
};
