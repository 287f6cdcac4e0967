import { describe, expect, it } from 'vitest';

import type { TraceSpan } from '../../canonical/context/trace.ts';
import { gatewayError } from '../../canonical/failure/failure.ts';
import type { TurnSummary } from '../../observe/observer.ts';
import { requestEnd, type RequestNotes, type StartedRequest } from '../../observe/request-end.ts';
import type { RequestRow, RequestStore } from './store.ts';
import { LogWriter } from './log-writer.ts';
import { ANY_REQUEST, RequestLog } from './request-log.ts';

const SEARCH = { ...ANY_REQUEST, limit: 500 };

const open = (store: RequestStore | null = null, maxInMemory = 500) => {
  let minted = 0;
  const clock = { time: 1_000_000, now: () => clock.time };
  const skipped: string[] = [];
  const log = new RequestLog({
    ambient: { clock, ids: { mint: () => `_${String((minted += 1)).padStart(16, '0')}` } },
    instance: 'a',
    turnPaths: new Set(['/v1/responses']),
    maxInMemory,
    kept:
      store === null
        ? null
        : { store, ttlMs: 50, writer: new LogWriter({ store, maxRows: 9, onLost() {}, onError() {} }) },
    print: ({ event }) => event,
    onSkipped: (reason) => skipped.push(reason),
  });
  const begin = (requestId: string, different: Partial<StartedRequest> = {}) => {
    const request = {
      requestId,
      method: 'POST',
      route: '/v1/responses',
      startedAt: clock.time,
      backgroundId: null,
      ...different,
    };
    const watch = log.open(request);
    if (watch === null) return null;
    return {
      note: (notes: RequestNotes) => watch.note?.(notes),
      end: (notes: RequestNotes = {}) =>
        watch.end?.(requestEnd(request, { status: 200, keyId: 'key_1', ...notes }, 5)),
    };
  };
  const kept = async () => (await log.list(SEARCH)).records.map(({ requestId }) => requestId);
  return { log, begin, kept, clock, skipped };
};

describe('RequestLog', () => {
  it('shows a request that runs turns from its start to its end', async () => {
    const { log, begin, kept } = open();
    const watch = begin('r1');
    watch?.note({ model: 'm' });
    expect(log.running(SEARCH)).toMatchObject([{ requestId: 'r1', model: 'm', durationMs: null }]);
    expect(log.running({ ...SEARCH, model: 'other' })).toEqual([]);
    expect(await log.find('r1')).toMatchObject({ record: { requestId: 'r1' }, spans: { spans: [] } });
    watch?.end({ model: 'm' });
    expect([log.running(SEARCH), await kept()]).toEqual([[], ['r1']]);
  });

  it('has turns of WebSockets and of the background, and of other routes only what fails', async () => {
    const { begin, kept } = open();
    begin('socket', { method: 'WEBSOCKET' })?.end();
    begin('background', { route: '/other', backgroundId: 'resp_1' })?.end();
    begin('upgrade', { method: 'GET' })?.end({ status: 101 });
    begin('list', { method: 'GET', route: '/v1/models' })?.end();
    begin('wrong', { method: 'GET', route: '/v1/models' })?.end({ status: 404 });
    expect(await kept()).toEqual(['wrong', 'background', 'socket']);
  });

  it.each(['/', '/healthz', '/readyz', '/metrics', '/console', '/console/assets/a.js', '/docs/errors.md'])(
    'does not watch %s',
    (route) => {
      expect(open().begin('r', { method: 'GET', route })).toBeNull();
    },
  );

  it.each([
    { of: 'without a key', keyId: null, reason: 'no_key' },
    { of: 'of one key', keyId: 'key_1', reason: 'key' },
  ])('keeps few failures $of in a minute', async ({ keyId, reason }) => {
    const { begin, kept, skipped, clock } = open();
    const fail = (of: string | null = keyId): void =>
      begin('f', { method: 'GET', route: '/v1/responses/:id' })?.end({ status: 404, keyId: of });
    for (let nth = 0; nth < 62; nth += 1) fail();
    expect([(await kept()).length, skipped]).toEqual([60, [reason, reason]]);
    fail('key_2');
    clock.time += 60_000;
    fail();
    expect([(await kept()).length, skipped.length]).toEqual([62, 2]);
  });

  it('keeps few answers of a key that needed no model, and all that asked it', async () => {
    const { begin, kept, skipped } = open();
    const usage = { inputTokens: 0, outputTokens: 0 } as NonNullable<TurnSummary['usage']>;
    const ending = { kind: 'ended', outcome: { kind: 'completed' } } as TurnSummary['ending'];
    const turn = { ending, usage, firstEventMs: 1, durationMs: 1 };
    const asked = { spans: [{ name: 'model-request', facts: {} } as unknown as TraceSpan], dropped: 0 };
    for (let nth = 0; nth < 62; nth += 1) {
      begin('empty')?.end({ turn });
      begin('lost')?.end({ status: 502, spans: asked });
      begin('answered')?.end({ turn: { ...turn, usage: { ...usage, inputTokens: 1 } } });
    }
    expect([(await kept()).length, skipped.length]).toEqual([184, 2]);
  });

  it('keeps a limited number in memory, or none', async () => {
    const some = open(null, 2);
    for (const id of ['a', 'b', 'c', 'd', 'e']) some.begin(id)?.end();
    expect(await some.kept()).toEqual(['e', 'd']);
    const none = open(null, 0);
    none.begin('a')?.end();
    expect(await none.kept()).toEqual([]);
  });

  it('finds the newest request with an id that a client used twice', async () => {
    const { log, begin, clock } = open();
    for (const answerId of ['resp_1', 'resp_2']) {
      begin('twice')?.end({ answerId });
      clock.time += 1;
    }
    expect((await log.find('twice'))?.record.responseId).toBe('resp_2');
    expect((await log.find('resp_1'))?.record.requestId).toBe('twice');
    expect(await log.find('twic')).toBeNull();
  });

  it('reads what other servers wrote, and its own memory while the store is away', async () => {
    const rows: RequestRow[] = [];
    let isAway = false;
    const store: RequestStore = {
      async add(added) {
        if (isAway) throw gatewayError('store_unavailable');
        rows.push(...added);
      },
      find: async (id) => rows.find((row) => row.id === id) ?? null,
      async list() {
        if (isAway) throw gatewayError('store_unavailable');
        return rows.toReversed();
      },
      trim: async () => 0,
    };
    const one = open(store);
    const other = open(store);
    one.begin('of one')?.end();
    await one.log.close();
    other.clock.time += 1;
    other.begin('of other')?.end();
    const requestsOf = async () => {
      const { records, source } = await other.log.list(SEARCH);
      return [source, ...records.map(({ requestId }) => requestId)];
    };
    expect(await requestsOf()).toEqual(['store', 'of other', 'of one']);
    expect(rows.map(({ expiresAt, status }) => [expiresAt, status])).toEqual([
      [1_000_050, 200],
      [1_000_051, 200],
    ]);
    const [first] = rows;
    expect((await other.log.find(first?.id ?? ''))?.record.requestId).toBe('of one');
    isAway = true;
    expect(await requestsOf()).toEqual(['memory', 'of other']);
  });
});
