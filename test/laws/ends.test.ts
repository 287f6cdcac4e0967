import { setImmediate as nextRound } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { failure } from '../../src/canonical/failure/failure.ts';
import { isMessage, isToolCall, wordsOf } from '../../src/canonical/request/item.ts';
import { fold, type Reply } from '../../src/canonical/events/accumulate.ts';
import type { ThreadSignal } from '../../src/codex/app-server.ts';
import { AnswerReader } from '../../src/codex/relay/answer/answer-reader.ts';
import type { HeldTurnHandle } from '../../src/codex/relay/server/held-turns.ts';
import type { Relay } from '../../src/codex/relay/server/relay.ts';
import type { WorkerPool } from '../../src/codex/worker/supervisor.ts';
import { profileOf } from '../../src/codex/capabilities/profile.ts';
import { SECOND_ANSWER, STREAMS, type AnswerStream } from '../support/answer-streams.ts';
import { engineOn } from '../support/engine.ts';
import { checkGrammar } from '../support/grammar.ts';
import { collect, emit } from '../support/turn-events.ts';
import { functionTool, turnContext, turnRequest } from '../support/turn-request.ts';
import { CodexImitation, THREAD_ID, TURN_ID } from './codex-imitation.ts';

/**
 * The engine, the reading half of the relay, and an imitation of the app-server, in one process and without timers:
 * fast enough to test every byte at which a stream can end.
 */

/** Which side is first when a stream ends: the app-server has reported everything, or nothing yet. */
type Order = 'app-server first' | 'relay first';

const runCut = async (stream: AnswerStream, length: number, order: Order): Promise<Reply> => {
  let tell: (signal: ThreadSignal) => void = () => {};
  let readerOf: (() => AnswerReader) | null = null;
  const answers = [stream.bytes.subarray(0, length), SECOND_ANSWER.bytes];

  const askModel = (): void => {
    const bytes = answers.shift() ?? Buffer.alloc(0);
    const codex = new CodexImitation({ tell: (signal) => tell(signal), askModelAgain: askModel });
    const reader = readerOf?.();
    reader?.begin();
    void reader?.push(bytes);
    if (order === 'relay first') reader?.end('cut');
    codex.read(bytes);
    if (order === 'app-server first') reader?.end('cut');
  };

  const workers = {
    lease: async () => ({
      isCurrent: () => false,
      release() {},
      appServer: {
        async request(method: string) {
          if (method === 'thread/start') return { thread: { id: THREAD_ID } };
          if (method !== 'turn/start') return {};
          return { turn: { id: TURN_ID } };
        },
        watchThread(_: string, listener: (signal: ThreadSignal) => void) {
          tell = listener;
          return () => {
            tell = () => {};
          };
        },
      },
    }),
  } as unknown as WorkerPool;

  const relay = {
    profile: profileOf({ kind: 'none' }, null),
    refusedFor: () => new Set(),
    sessionOf: async () => 'session',
    expect: () => ({ isReady: true, expiresAtMs: null, started() {}, claim, refuseFurtherRequests() {} }),
  } as Partial<Relay> as Relay;
  const claim: HeldTurnHandle['claim'] = ({ onUpstreamEvent }) => {
    // The model request waits for this.
    queueMicrotask(() => queueMicrotask(askModel));
    const toFailure = () => failure('upstream_error', { message: 'Broken.' });
    readerOf = () =>
      new AnswerReader({
        onUpstreamEvent,
        toFailure,
        onActivity() {},
        signal: stop.signal,
        mintCallId: () => 'call_ours',
      });
    return {
      report: { ignored: [], limitsOutput: false, headers: {}, signIn: null },
      answerBytes: 0,
      wasAsked: true,
      letGo: () => false,
      begin() {},
      close: () => onUpstreamEvent({ kind: 'answer-ended', how: 'left' }),
    };
  };

  const engine = engineOn(workers, { relay });
  const tools = [functionTool('f', { parameters: {}, strict: false })];
  const stop = new AbortController();
  const ended = (async () => {
    const events = await collect(engine.plan(turnRequest({ tools }), turnContext()).run(stop.signal));
    expect(checkGrammar(events)).toEqual([]);
    return fold(emit(events));
  })();
  // Nothing here takes time: a turn that has not ended after a few event loop rounds never will.
  const hang = (async () => {
    for (let round = 0; !stop.signal.aborted && round < 20; round += 1) await nextRound();
    throw new Error(`hangs at ${length}, ${order}`);
  })();
  hang.catch(() => {});
  try {
    return await Promise.race([ended, hang]);
  } finally {
    stop.abort();
  }
};

/**
 * The lengths at which a stream is cut: around the end of every line, where something is decided, and every fifth byte
 * between. `EVERY_BYTE=1` cuts at every byte.
 */
const cutsOf = ({ bytes, wholeAt }: AnswerStream): readonly number[] =>
  Array.from({ length: bytes.length + 1 }, (_, length) => length).filter(
    (length) =>
      process.env['EVERY_BYTE'] === '1' ||
      length % 5 === 0 ||
      length === wholeAt ||
      bytes.subarray(Math.max(0, length - 2), length + 2).includes('\n'),
  );

const isWhole = ({ outcome }: Reply): boolean =>
  outcome.kind === 'completed' || outcome.kind === 'tool-calls';

describe.each(Object.entries(STREAMS))('a stream of %s', (_, stream) => {
  it.each<Order>(['app-server first', 'relay first'])(
    'that ends at any byte is a whole answer or an error (%s)',
    async (order) => {
      const wholeAt: number[] = [];
      for (const length of cutsOf(stream)) {
        if (isWhole(await runCut(stream, length, order))) wholeAt.push(length);
      }
      expect(wholeAt).toEqual(stream.wholeAt === null ? [] : [stream.wholeAt]);
    },
  );
});

describe('a complete answer', () => {
  it('has all its items, including those that only its last event contains', async () => {
    const items = async (name: string): Promise<unknown> => {
      const stream = STREAMS[name] ?? SECOND_ANSWER;
      const reply = await runCut(stream, stream.bytes.length, 'relay first');
      return reply.items.map((item) => {
        if (isMessage(item)) return wordsOf(item, 'text');
        return isToolCall(item) ? [item.callId, item.input, item.status === 'completed'] : item.kind;
      });
    };
    expect(await items('text and two calls')).toEqual([
      'Look.',
      ['call_1', '{"a":1}', true],
      ['call_2', '{"b":2}', true],
    ]);
    expect(await items('a custom call, then another answer')).toEqual(['Without it, then.']);
    expect(await items('items that only the last event holds')).toEqual([
      'Hello.',
      ['call_1', '{"z":1}', true],
    ]);
    expect(await items('a call, half a call, then response.incomplete')).toEqual([
      ['call_0', '{"a":"é"}', true],
      ['call_1', '{"b":', false],
    ]);
  });
});
