import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

import { send } from '../../api/client.ts';
import type { Item } from './items.ts';
import { afterEvent, keptItems, NO_ANSWER, type LiveAnswer } from './live-answer.ts';
import { readEvents } from '../../api/read-events.ts';
import type { RequestBody } from './request.ts';

/** An answer of the model, with what this page measured. */
export interface Answer extends LiveAnswer {
  readonly kind: 'answer';
  readonly id: number;
  readonly isRunning: boolean;
  /** A person pressed stop. */
  readonly isStopped: boolean;
  /** The request failed, or the stream broke. */
  readonly error: unknown;
  readonly requestId: string | null;
  /** Parameters without effect. */
  readonly ignored: string | null;
  /** Milliseconds from the request to the first event, and to the end. */
  readonly firstMs: number | null;
  readonly totalMs: number | null;
}

export type Entry = Answer | { readonly kind: 'input'; readonly id: number; readonly item: Item };

export interface Conversation {
  readonly entries: readonly Entry[];
  readonly isRunning: boolean;
  /** Sends these items after the conversation so far. */
  readonly run: (added: readonly Item[], bodyOf: (input: readonly Item[]) => RequestBody) => Promise<void>;
  readonly stop: () => void;
  readonly clear: () => void;
}

/** What a request contains of the conversation. */
export const inputOf = (entries: readonly Entry[]): readonly Item[] =>
  entries.flatMap((entry) => (entry.kind === 'input' ? [entry.item] : keptItems(entry)));

const STARTED = {
  ...NO_ANSWER,
  kind: 'answer',
  isRunning: true,
  isStopped: false,
  error: null,
  requestId: null,
  ignored: null,
  firstMs: null,
  totalMs: null,
} as const;

/** A conversation that lives on this page only. */
export const useConversation = (): Conversation => {
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const running = useRef<AbortController | null>(null);
  const nextId = useRef(0);
  const latest = useRef(entries);
  latest.current = entries;
  useEffect(() => () => running.current?.abort(), []);

  const stop = useCallback(() => running.current?.abort(), []);
  const clear = useCallback(() => {
    running.current?.abort();
    setEntries([]);
  }, []);
  const run = useCallback<Conversation['run']>(async (added, bodyOf) => {
    const cancel = new AbortController();
    running.current = cancel;
    const inputs = added.map((item) => ({ kind: 'input' as const, id: (nextId.current += 1), item }));
    const id = (nextId.current += 1);
    const before = [...latest.current, ...inputs];
    setEntries([...before, { ...STARTED, id }]);
    const update = (change: (answer: Answer) => Partial<Answer>): void =>
      setEntries((all) =>
        all.map((one) => (one.id === id && one.kind === 'answer' ? { ...one, ...change(one) } : one)),
      );
    await streamAnswer(bodyOf(inputOf(before)), cancel.signal, update);
    if (running.current === cancel) running.current = null;
  }, []);

  const isRunning = entries.some((entry) => entry.kind === 'answer' && entry.isRunning);
  return { entries, isRunning, run, stop, clear };
};

type Update = (change: (answer: Answer) => Partial<Answer>) => void;

/** Runs a request until its stream has ended; never rejects. */
const streamAnswer = async (body: RequestBody, signal: AbortSignal, update: Update): Promise<void> => {
  const startedAt = performance.now();
  const elapsed = (): number => performance.now() - startedAt;
  try {
    const headers = { accept: 'text/event-stream' };
    const response = await send('/v1/responses', { method: 'POST', body, signal, headers });
    update(() => ({
      requestId: response.headers.get('x-request-id'),
      ignored: response.headers.get('x-proxy-ignored-params'),
    }));
    if (response.body === null) throw new Error('The answer has no body.');
    let hasEnded = false;
    for await (const event of readEvents(response.body)) {
      update((before) => ({ ...afterEvent(before, event), firstMs: before.firstMs ?? elapsed() }));
      hasEnded ||= afterEvent(NO_ANSWER, event).end !== null;
    }
    if (!hasEnded) throw new Error('The connection ended before the answer did.');
    update(() => ({ isRunning: false, totalMs: elapsed() }));
  } catch (error) {
    const isStopped = signal.aborted;
    update(() => ({ isRunning: false, totalMs: elapsed(), isStopped, error: isStopped ? null : error }));
  }
};
