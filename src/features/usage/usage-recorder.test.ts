import { afterEach, describe, expect, it } from 'vitest';

import { requestEnd, type RequestNotes } from '../../observe/request-end.ts';
import type { UsageRow } from './store.ts';
import { HOUR_MS, NO_USAGE } from './usage-counts.ts';
import { UsageRecorder, type UsageRecorderOptions } from './usage-recorder.ts';

const START = 1_000 * HOUR_MS;

const STARTED: RequestNotes = {
  status: 200,
  keyId: 'key',
  model: 'gpt',
  client: { name: 'codex', source: 'header', reasons: [] },
};
const ANSWER: RequestNotes = {
  ...STARTED,
  turn: {
    ending: { kind: 'ended', outcome: { kind: 'completed' } },
    usage: {
      inputTokens: 10,
      cachedInputTokens: 0,
      cacheWriteInputTokens: 0,
      outputTokens: 1,
      reasoningTokens: 0,
      totalTokens: 11,
    },
    firstEventMs: 5,
    durationMs: 100,
  },
};

const opened: UsageRecorder[] = [];
afterEach(async () => {
  for (const recorder of opened.splice(0)) await recorder.stop();
});

const setUp = (different: Partial<UsageRecorderOptions> = {}) => {
  const clock = { time: START, now: () => clock.time };
  let ids = 0;
  const stored = new Map<string, UsageRow>();
  const writes: (readonly string[])[] = [];
  const lost: [number, string][] = [];
  const errors: unknown[] = [];
  /** Called after each write; what it throws is the answer. */
  const database = { answer: (): void => {} };
  const recorder = new UsageRecorder({
    store: {
      async put(rows) {
        writes.push(rows.map(({ id, requests }) => `${id}: ${requests}`));
        for (const row of rows) stored.set(row.id, row);
        database.answer();
      },
    },
    ambient: { clock, ids: { mint: () => `u${(ids += 1)}` } },
    turnPaths: new Set(['/v1/responses']),
    ttlMs: 10,
    onLost: (requests, reason) => lost.push([requests, reason]),
    onError: (error) => errors.push(error),
    flushMs: 1_000_000,
    ...different,
  });
  opened.push(recorder);
  const serve = (
    {
      base = ANSWER,
      durationMs = 100,
      ...notes
    }: RequestNotes & { base?: RequestNotes; durationMs?: number } = {},
    of: { method?: string; backgroundId?: string } = {},
  ) => {
    const request = {
      requestId: 'r',
      method: 'POST',
      route: '/v1/responses',
      startedAt: 0,
      backgroundId: null,
      ...of,
    };
    const watch = recorder.open(request);
    watch?.end?.(requestEnd(request, { ...base, ...notes }, durationMs));
    return watch;
  };
  return { clock, stored, writes, lost, errors, database, recorder, serve };
};

describe('UsageRecorder', () => {
  it('writes the totals of the hour, and only what has changed', async () => {
    const { recorder, serve, stored, writes, clock } = setUp();
    serve();
    serve({ durationMs: 200 }, { method: 'WEBSOCKET' });
    serve({ model: 'other' });
    await recorder.flush();
    serve({}, { backgroundId: 'resp_1' });
    await recorder.flush();
    await recorder.flush();
    clock.time += HOUR_MS;
    serve();
    await recorder.flush();
    expect(writes).toEqual([['u1: 2', 'u2: 1'], ['u1: 3'], ['u3: 1']]);
    expect(stored.get('u1')).toEqual({
      ...NO_USAGE,
      id: 'u1',
      hour: START,
      keyId: 'key',
      model: 'gpt',
      client: 'codex',
      requests: 3,
      inputTokens: 30,
      outputTokens: 3,
      durationMs: 400,
      firstEvents: '10:3',
      durations: '27:2 31:1',
      expiresAt: START + HOUR_MS + 10,
    });
    expect(stored.get('u3')?.hour).toBe(START + HOUR_MS);
  });

  it('counts only requests of turns that have a key', async () => {
    const { recorder, serve, writes } = setUp();
    expect(serve({}, { method: 'GET' })).toBeNull();
    expect(
      recorder.open({
        requestId: 'r',
        method: 'POST',
        route: '/v1/embeddings',
        startedAt: 0,
        backgroundId: null,
      }),
    ).toBeNull();
    serve({ keyId: null, status: 401 });
    // It started a background response.
    serve({ base: STARTED });
    await recorder.flush();
    expect(writes).toEqual([]);
  });

  it('sends totals again after a lost answer, and reports the failure once', async () => {
    const { recorder, serve, writes, errors, database } = setUp();
    const gone = new Error('gone');
    database.answer = () => {
      throw gone;
    };
    serve();
    await expect(recorder.flush()).rejects.toThrow(gone);
    serve();
    await expect(recorder.flush()).rejects.toThrow(gone);
    database.answer = () => {};
    await recorder.flush();
    expect(writes).toEqual([['u1: 1'], ['u1: 2'], ['u1: 2']]);
    expect(errors).toEqual([gone]);
  });

  it('begins a new row for an hour that comes again', async () => {
    const { recorder, serve, writes, clock } = setUp();
    serve();
    await recorder.flush();
    clock.time += HOUR_MS;
    serve();
    await recorder.flush();
    clock.time -= HOUR_MS;
    serve();
    await recorder.flush();
    expect(writes).toEqual([['u1: 1'], ['u2: 1'], ['u3: 1']]);
  });

  it('keeps what ends during a write for the next one', async () => {
    const { recorder, serve, writes, database } = setUp();
    database.answer = () => {
      database.answer = () => {};
      serve();
    };
    serve();
    await recorder.flush();
    await recorder.flush();
    expect(writes).toEqual([['u1: 1'], ['u1: 2']]);
  });

  it('counts names beyond the maximum of a key and names that are texts as `other`', async () => {
    const { recorder, serve, stored } = setUp();
    for (let index = 0; index < 60; index += 1) serve({ model: `m${index}` });
    serve({ model: 'tell me a story' });
    serve({ keyId: 'another', model: 'm59' });
    serve({ model: null, client: null, status: 400 });
    await recorder.flush();
    const labels = [...stored.values()].map(({ keyId, model, requests }) => [keyId, model, requests]);
    expect(labels.slice(49)).toEqual([
      ['key', 'm49', 1],
      ['key', 'other', 11],
      ['another', 'm59', 1],
      ['key', '', 1],
    ]);
  });

  it('loses requests beyond its memory, and what cannot be written at the end', async () => {
    const { recorder, serve, lost, database } = setUp({ maxRows: 1 });
    database.answer = () => {
      throw new Error('gone');
    };
    serve();
    serve();
    serve({ model: 'second' });
    await recorder.stop();
    expect(lost).toEqual([
      [1, 'memory'],
      [2, 'stop'],
    ]);
  });
});
