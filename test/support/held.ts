import type { IncomingHttpHeaders } from 'node:http';

import { HeldTurn, type HeldAdmission, type ExpectedTurn } from '../../src/codex/relay/server/held-turn.ts';
import { RelayTurn } from '../../src/codex/relay/server/relay-turn.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { everything, SHAPE } from './edited.ts';
import { turnContext, turnRequest } from './turn-request.ts';

/** A held turn of `thread-1`, and model requests for it. */

export const placeholder = { type: 'message', id: 'px_1' };
export const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1' };
export const output = { type: 'function_call_output', call_id: 'call_1', output: 'x' };
export const foreign = {
  type: 'message',
  role: 'developer',
  content: [{ type: 'input_text', text: 'Be brief.' }],
};

export const metadata = (more: JsonObject = {}): IncomingHttpHeaders => ({
  'x-codex-turn-metadata': JSON.stringify({ request_kind: 'turn', turn_id: 'turn-1', ...more }),
});
export const bodyOf = (...input: readonly JsonObject[]): JsonObject => ({ model: 'gpt-5.5', input });
export const NOW = Date.UTC(2026, 10, 5);
export const NEVER = new AbortController().signal;

export const hold = (expected: Partial<ExpectedTurn> = {}) => {
  let losses = 0;
  const expectedTurn = {
    threadId: 'thread-1',
    slug: 'gpt-5.5',
    placeholder: 'px_1',
    isFirstOfThread: true,
    onLost() {
      losses += 1;
    },
    ...expected,
  };
  const held = new HeldTurn(expectedTurn, { now: () => NOW });
  return { held, losses: () => losses };
};

export const newTurn = ({ holdsAnswers = false }: { readonly holdsAnswers?: boolean } = {}): RelayTurn =>
  new RelayTurn({
    request: turnRequest(),
    context: turnContext(),
    shape: SHAPE,
    thread: { threadId: 'thread-1', turnId: 'turn-1', slug: 'gpt-5.5' },
    affinity: { cacheKey: 'cache-key', session: 'session-1' },
    limits: everything,
    turnId: 'turn-of-backend',
    startedAtMs: 1_000,
    holdsAnswers,
    signIn: () => null,
    onUpstreamEvent() {},
    onActivity() {},
  });

/** A turn that was started and claimed. */
export const open = (expected: Partial<ExpectedTurn> = {}) => {
  const { held } = hold(expected);
  const relayTurn = newTurn();
  held.started('turn-1');
  held.claim(relayTurn);
  return { held, relayTurn };
};

/** The admission as far as it is decided, after everything that does not wait for us. */
export const decided = async (admission: Promise<HeldAdmission>): Promise<HeldAdmission | 'waits'> => {
  const waits = new Promise<'waits'>((resolve) => {
    setImmediate(() => resolve('waits'));
  });
  return Promise.race([admission, waits]);
};

export const answer = (relayTurn: RelayTurn, ...items: readonly JsonObject[]): void => {
  relayTurn.onUpstreamEvent({ kind: 'answer-started' });
  for (const item of items) {
    relayTurn.onUpstreamEvent({
      kind: 'answer-said',
      type: 'response.output_item.done',
      data: { item },
    });
  }
  relayTurn.onUpstreamEvent({ kind: 'answer-ended', how: 'completed', response: null });
};

/** The request is over. */
export const released = (admission: HeldAdmission): void => {
  if (typeof admission === 'object' && 'release' in admission) admission.release();
};
