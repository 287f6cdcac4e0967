import { Buffer } from 'node:buffer';

import type { Failure } from '../../src/canonical/failure/failure.ts';
import type { BackendProfile, EditField } from '../../src/codex/capabilities/profile.ts';
import { carriedInput } from '../../src/codex/relay/request/carried-input.ts';
import { affinityKey, uuidV7 } from '../../src/codex/relay/request/affinity.ts';
import { AnswerReader } from '../../src/codex/relay/answer/answer-reader.ts';
import { httpFailure, streamFailure } from '../../src/codex/relay/answer/http-failure.ts';
import type { Relay } from '../../src/codex/relay/server/relay.ts';
import { editedBody } from '../../src/codex/relay/transport/send-once.ts';
import { RelayTurn } from '../../src/codex/relay/server/relay-turn.ts';
import type { UpstreamEvent } from '../../src/codex/sources/source.ts';
import { systemAmbient } from '../../src/kit/ambient.ts';
import { isJsonObject, listIn, textIn, type Json, type JsonObject } from '../../src/kit/json/json.ts';
import { objectIn, type TraceRecord } from './read-capture.ts';

/** Repeats a backend's answers through the relay's code, without a socket. */
export interface PlayedRelay extends Relay {
  /** Plays one record of a thread. */
  play(threadId: string, record: TraceRecord): Promise<void>;
}

interface PlayedThread {
  readonly relayTurn: RelayTurn;
  reader: AnswerReader | null;
  /** The failure that a backend error means now. */
  refused: Failure | null;
  /** The last event was an error that the reader has reported. */
  hasFailed: boolean;
}

export const playedRelay = (profile: BackendProfile, refuses: readonly string[]): PlayedRelay => {
  const threads = new Map<string, PlayedThread>();
  const { clock } = systemAmbient;
  const session = uuidV7(clock.now());
  const cacheKeys = profile.isChatgpt ? 'uuid' : 'any';
  const known = new Set(refuses as readonly EditField[]);
  return {
    addresses: { model: '', account: '', refresh: '', revoke: '', authApi: '' },
    profile,
    refusedFor: () => known,
    tokenFailure: () => null,
    sessionOf: async () => session,
    expect({ threadId, slug }) {
      let turnId = '';
      return {
        isReady: true,
        expiresAtMs: null,
        started(id) {
          turnId = id;
        },
        claim(params) {
          const relayTurn = new RelayTurn({
            ...params,
            thread: { threadId, slug, turnId },
            affinity: affinityKey(params, params.session, cacheKeys),
            limits: { profile, refuses: known },
            turnId: uuidV7(clock.now()),
            startedAtMs: clock.now(),
            holdsAnswers: false,
            signIn: () => null,
          });
          threads.set(threadId, { relayTurn, reader: null, refused: null, hasFailed: false });
          return {
            report: relayTurn,
            answerBytes: 0,
            wasAsked: true,
            letGo: () => false,
            begin: () => relayTurn.begin(),
            close: () => threads.delete(threadId),
          };
        },
        refuseFurtherRequests() {},
      };
    },
    async play(threadId, record) {
      const thread = threads.get(threadId);
      if (thread !== undefined) await playLine(thread, record);
    },
    close: async () => {},
  };
};

const playLine = async (thread: PlayedThread, { kind, facts }: TraceRecord): Promise<void> => {
  const { relayTurn } = thread;
  if (kind === 'wire-sent') {
    for (const field of listIn(facts, 'withheld')) relayTurn.withhold(field as EditField);
    relayTurn.onActivity('sent');
    const body = objectIn(facts, 'before');
    const input = listIn(body, 'input');
    const placeholder = input.findLast(isPlaceholder);
    const carried = isJsonObject(placeholder) ? carriedInput(input, textIn(placeholder, 'id')) : null;
    editedBody({ body, carried }, relayTurn);
  } else if (kind === 'wire-head') {
    relayTurn.headers = objectIn(facts, 'head') as Readonly<Record<string, string>>;
  } else if (kind === 'wire-refused') {
    const { status, head, body, host } = facts as unknown as RefusedFacts;
    const source = { host, nowMs: Date.now(), secrets: [] };
    thread.refused = httpFailure({ status, headers: head, body }, source);
  } else if (kind === 'wire-said') {
    thread.hasFailed = ['response.failed', 'error'].includes(textIn(facts, 'type'));
    await thread.reader?.push(Buffer.from(eventText(facts)));
  } else if (kind === 'wire-signal') playSignal(thread, facts['signal'] as unknown as UpstreamEvent);
};

/** Its id is random, so a replay recognises it by the prefix. Older captures have one for each item. */
const isPlaceholder = (item: Json): boolean => isJsonObject(item) && textIn(item, 'id').startsWith('px_');

interface RefusedFacts {
  readonly host: string;
  readonly status: number;
  readonly head: Readonly<Record<string, string>>;
  readonly body: string;
}

const playSignal = (thread: PlayedThread, signal: UpstreamEvent): void => {
  const { relayTurn } = thread;
  if (signal.kind === 'answer-started') {
    thread.reader = new AnswerReader({
      onUpstreamEvent: (one) => relayTurn.onUpstreamEvent(one),
      toFailure: (event) => streamFailure(event, { host: '', nowMs: Date.now(), secrets: [] }),
      onActivity: () => relayTurn.onActivity('heard'),
      signal: relayTurn.signal,
      // Captures contain repaired events.
      mintCallId: () => 'call_unknown',
    });
    thread.reader.begin();
  } else if (signal.kind === 'answer-ended' && (signal.how === 'cut' || signal.how === 'left')) {
    thread.reader?.end(signal.how);
  } else if (signal.kind === 'refused' && !thread.hasFailed) {
    const { refused } = thread;
    const { headers } = signal.failure;
    thread.refused = null;
    const failure =
      refused === null ? signal.failure : { ...refused, headers: { ...refused.headers, ...headers } };
    relayTurn.onUpstreamEvent({ kind: 'refused', failure });
  }
};

/** An event as received. Of an unread one only the name is known. */
const eventText = (facts: JsonObject): string => {
  const { type, data } = facts;
  const text = typeof data === 'string' ? data : JSON.stringify(data ?? {});
  const lines = text.split('\n').map((line) => `data: ${line}\n`);
  return `${typeof type === 'string' ? `event: ${type}\n` : ''}${lines.join('')}\n`;
};
