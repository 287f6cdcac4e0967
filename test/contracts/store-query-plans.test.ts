import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { STORE_SCHEMA } from '../../src/compose/open-store.ts';
import { agentStoreOf } from '../../src/features/agents/store/agent-store.ts';
import { stateStoreOf } from '../../src/features/state/store/state-store.ts';
import { usageStore } from '../../src/features/usage/store.ts';
import { usageRow } from '../support/usage-rows.ts';
import { kyselyOn } from '../../src/store/connection-dialect.ts';
import { migrate } from '../../src/store/migrations/migrate.ts';
import { methodsOf } from '../../src/store/operations.ts';
import { partOf } from '../../src/store/part.ts';
import type { Store } from '../../src/store/store.ts';
import { requestStore, type RequestSearch } from '../../src/features/request-log/store.ts';
import { createSeal } from '../../src/store/seal.ts';
import { keyStore } from '../../src/features/keys/store.ts';
import { limitStore } from '../../src/features/keys/limit-store.ts';

/** A statement that reads a whole table gets slower with every stored row. */

const directory = mkdtempSync(path.join(tmpdir(), 'query-plans-'));
const database = new DatabaseSync(path.join(directory, 'state.db'));
const statements = new Map<string, readonly SQLInputValue[]>();
const db = kyselyOn('sqlite', (sql, parameters) => {
  const statement = database.prepare(sql);
  statements.set(sql, parameters as SQLInputValue[]);
  const rows = statement.all(...(parameters as SQLInputValue[]));
  return { rows, changes: statement.columns().length > 0 ? rows.length : 1 };
});
const seal = createSeal([]);
const called = new Set<string>();
const methods = methodsOf(STORE_SCHEMA, (name, args) => {
  called.add(name);
  return STORE_SCHEMA.operations.get(name)!.run({ db, seal, now: 1_000 }, ...args);
});
const store = stateStoreOf(methods as Store);
afterAll(() => {
  database.close();
  rmSync(directory, { recursive: true, force: true });
});

const FUTURE = 2_000;

const response = (id: string, isBackground: boolean) =>
  ({ id, status: 'completed', isBackground, createdAt: 0, expiresAt: FUTURE, body: '{}' }) as const;

const request = (id: string) => ({
  id,
  requestId: id,
  responseId: null,
  instance: 'i',
  keyId: 'a',
  client: null,
  model: 'm',
  status: 200,
  errorCode: null,
  expiresAt: FUTURE,
  body: '{}',
  spans: '[]',
});

const EVERYTHING: RequestSearch = {
  result: null,
  status: null,
  errorCode: null,
  model: null,
  keyId: null,
  client: null,
  text: null,
  from: null,
  before: null,
  limit: 1,
};

const turn = (key: string) => ({ key, body: '[]', itemIds: [`msg_${key}`] });

/** Calls every method of the agents. */
const callAgents = async (): Promise<void> => {
  const {
    agentSessions: sessions,
    agentEvents,
    agentApprovals,
    savedAgents: agents,
  } = agentStoreOf(methods as Store);
  const page = { after: null, order: 'desc', limit: 1 } as const;
  await agents.add({ id: 'g', owner: 'a', createdAt: 0, expiresAt: FUTURE, body: '{}' });
  await agents.find('a', 'g', FUTURE);
  await agents.list('a', page);
  await agents.list('a', { ...page, after: 'g', order: 'asc' });
  await agents.update('a', 'g', { from: '{}', body: '[]', expiresAt: FUTURE });
  await agents.delete('a', 'g');
  await agentApprovals.useApproval('a', 'p', FUTURE);
  await agentApprovals.giveBackApproval('a', 'p');
  const row = {
    id: 's1',
    owner: 'a',
    agentId: 'g',
    workspace: 'w',
    phase: 'idle',
    rev: 0,
    nextEvent: 1,
    nextItem: 0,
    createdAt: 0,
    lastActiveAt: 0,
    queuedAt: null,
    deadlineAt: null,
    metadata: {},
    settings: '{}',
    state: '{}',
  } as const;
  const change = {
    ...row,
    phase: 'queued',
    queuedAt: 1,
    expiresAt: FUTURE,
    events: ['1'],
    turns: [{ id: 't', pos: 1, body: '{}' }],
    items: [{ id: 'i', pos: 0, turnId: 't', body: '{}', raw: '[]' }],
    nextItem: 1,
    eventsExpireAt: FUTURE,
    expireEventsAt: FUTURE,
    inputKey: { key: 'k', body: 'b', expiresAt: FUTURE },
    room: { maxQueued: 5, runs: 1 },
    metadata: { a: 'b' },
  } as const;
  await sessions.create(row, change, 5);
  await sessions.change('a', 's1', 1, { ...change, metadata: { c: 'd' } });
  await sessions.find('a', 's1');
  await sessions.inputOf('a', 's1', 'k');
  await sessions.queues();
  await sessions.claim('w', { instance: 'i', beat: 0 }, 1);
  const writes = { events: ['2'], turns: [], items: [], nextItem: 2, eventsExpireAt: FUTURE };
  await sessions.append('a', 's1', { instance: 'i', first: 3 }, writes);
  await sessions.append('a', 's1', { instance: 'j', first: 3 }, writes);
  await sessions.renew({ instance: 'i', beat: 1 }, ['s1']);
  await sessions.take({ instance: 'j', beat: 0 }, await sessions.leases(1));
  await sessions.overdue(1);
  const search = { ...page, agentId: null, metadata: {} };
  await sessions.list('a', search);
  await sessions.list('a', { ...search, agentId: 'g', metadata: { c: 'd' }, after: 's1', order: 'asc' });
  await sessions.turn('a', 's1', 't');
  await sessions.turns('a', 's1', page);
  await sessions.turns('a', 's1', { ...page, after: 't' });
  for (const turnId of ['t', null]) {
    await sessions.items('a', 's1', turnId, page);
    await sessions.items('a', 's1', turnId, { ...page, after: 'i' });
  }
  await sessions.history('a', 's1', 0, 1);
  await agentEvents.after('a', 's1', 0, 1);
  database.exec(
    'update agent_events set expires_at = 0; update agent_input_keys set expires_at = 0; update agent_sessions set expires_at = 0',
  );
  await sessions.delete('a', 's1', 9);
};

/** Calls every method, so that every statement is seen. */
beforeAll(async () => {
  await migrate(db, 'sqlite', 0, STORE_SCHEMA.migrations);
  statements.clear();
  const { turns, responses, conversations, events, chats, memory, segments, kept } = store;
  const usage = partOf(store, usageStore);
  const keys = partOf(store, keyStore);
  const limits = partOf(store, limitStore);
  const requests = partOf(store, requestStore);
  const write = { owner: 'a', expiresAt: FUTURE };
  const onto = { kind: 'new', segment: 's', cacheKey: 'c' } as const;
  const at = (await turns.commit({ ...write, onto, turn: turn('1'), response: response('r1', false) }))!;
  const after = { kind: 'after', at, fork: 'f', cacheKey: 'c' } as const;
  await responses.add({ ...response('r2', true), owner: 'a', status: 'queued' }, { instance: 'i', beat: 0 });
  await responses.renew({ instance: 'i', beat: 1 }, ['r2']);
  await responses.take({ instance: 'j', beat: 0 }, await responses.leases(1));
  await responses.change('a', 'r2', { status: 'in_progress' });
  await turns.commit({ ...write, onto: after, turn: turn('2'), response: response('r2', true) });
  await turns.commit({ ...write, onto: after, turn: turn('3'), response: response('r3', false) });
  await turns.size('a', at);
  const [row] = await turns.upTo('a', at);
  await turns.cacheKey('a', 's');
  for (const order of ['asc', 'desc'] as const)
    await turns.page('a', 's', { from: 1, order, limit: 1, maxChars: 1 });
  await turns.byKey('a', '1');
  await turns.byKeys('a', ['1'], 1);
  await turns.byItems('a', ['msg_1'], 1);
  await turns.rewrite('a', row!, '[1]');
  for (const owner of ['a', null]) {
    await segments.list({ owner, after: null, limit: 1 });
    await segments.list({ owner, after: 's', limit: 1 });
  }
  await segments.find('s');
  for (const order of ['asc', 'desc'] as const) {
    await segments.turns('f', { after: null, order, limit: 1, maxChars: 1 });
    await segments.turns('f', { after: '1', order, limit: 1, maxChars: 1 });
  }
  await responses.find('a', 'r1');
  await responses.at('a', 'r1');
  const conversation = { id: 'v', owner: 'a', createdAt: 0, expiresAt: FUTURE, body: '{}', cacheKey: 'c' };
  await conversations.create({ ...conversation, turn: turn('4') });
  await conversations.update('a', 'v', { body: '{}', expiresAt: FUTURE });
  await conversations.lock('a', 'v', { holder: 'h', until: FUTURE });
  await conversations.lock('a', 'v', { holder: 'g', until: FUTURE });
  await conversations.unlock('a', 'v', 'h');
  await conversations.find('a', 'v');
  await turns.commit({ ...write, onto: { kind: 'conversation', id: 'v' }, turn: turn('5'), response: null });
  await conversations.delete('a', 'v');
  await conversations.create({ ...conversation, id: 'w', turn: turn('6') });
  await segments.delete('w', 1);
  await responses.delete('a', 'r3');
  await events.append('a', 'r2', { first: 0, last: 0, body: '' }, FUTURE);
  await events.copy([{ owner: 'a', responseId: 'r1', count: 1, body: '', expiresAt: FUTURE }]);
  await events.after('r2', -1, 10);
  await kept.bytes('a');
  await events.expire('r2', 1);
  const chat = { id: 'x', model: 'm', createdAt: 0, metadata: { a: 'b' }, body: '{}', messages: '[]' };
  await chats.add({ ...chat, owner: 'a', expiresAt: FUTURE });
  await chats.find('a', 'x');
  for (const order of ['asc', 'desc'] as const) {
    await chats.list('a', { model: 'm', metadata: { a: 'b' }, after: 'x', order, limit: 1 });
    await chats.list('a', { model: null, metadata: {}, after: null, order, limit: 1 });
  }
  await chats.update('a', 'x', { metadata: { c: 'd' }, body: '{}' });
  await chats.delete('a', 'x');
  await memory.put('reasoning', 'k', 'v', 1);
  await memory.claim('cache-id', 'k', 'v', 1);
  await memory.get('reasoning', ['k']);
  await requests.add([request('q1'), request('q2')]);
  await requests.find('q1');
  await requests.list(EVERYTHING);
  await requests.list({ ...EVERYTHING, keyId: 'a', result: 'ok' });
  await requests.list({ ...EVERYTHING, text: 'q', result: 'failed', from: 'p', before: 'r' });
  await requests.trim(1, 1);
  const claim = { name: 'l', max: 5, amount: 1, resetsAt: FUTURE, lengthMs: 1_000 };
  for (const id of ['1', '2', '3']) {
    await limits.reserve({ id, keyId: 'k', expiresAt: id === '3' ? 1 : FUTURE, limits: [claim] });
  }
  await limits.settle('1', { l: 3 });
  await limits.giveBack('2');
  await limits.status('k');
  await limits.reset('k');
  const hours = { from: 0, to: FUTURE, width: 1 };
  for (const keyIds of [null, ['a']]) {
    await usage.sums({ ...hours, keyIds, models: ['m'], by: ['keyId', 'model', 'client'], limit: 1 });
    await usage.latencies({ ...hours, keyIds });
  }
  await usage.put([usageRow('u', { expiresAt: 1 })]);
  await callAgents();
  await agentStoreOf(methods as Store).agentApprovals.useApproval('a', 'q', 1);
  database.exec('update responses set expires_at = 0; update segments set expires_at = 0, sweep_at = 0');
  await store.sweep(10);
  await memory.drop('reasoning', ['k']);
  const key = { id: 'k', hint: 'h', createdAt: 0, expiresAt: null, body: '{}' };
  const created = (await keys.create(key, 'hash', 1))!;
  await keys.changedSince(0);
  await keys.find('k');
  await keys.list({ after: 'k', limit: 1 });
  await keys.rotate('k', { hash: 'other', hint: 'o', until: FUTURE });
  const { expiresAt, pausedAt, body } = created;
  await keys.change('k', created.version, { expiresAt, pausedAt, revokedAt: 1, body });
  await keys.create({ ...key, id: 'l' }, 'third', 1);
  await keys.announce('k', 'paused');
  await keys.used([{ id: 'k', at: 1 }]);
  await keys.announce('k', 'paused');
});

it('sees every operation', () => {
  expect(
    [...STORE_SCHEMA.operations.keys()].filter((name) => !called.has(name)),
    'Call each operation of a part in `beforeAll` above, so that its statements are checked.',
  ).toEqual([]);
  expect(statements.size).toBeGreaterThan(50);
});

/**
 * `path` is the list of segments of one chain, `claims`, `changes` and `items` are lists of values, `counter` is the counters of a key, `responses_lease` has only the responses that run, and two indices of sessions only those that wait or run. Requests are read in
 * the order of their ids, until there are enough; `PROXY_REQUEST_LOG_ROWS` limits their number.
 */
const READS_ALL =
  /^SCAN (?!(?:path|claims|changes|counter|items)\b|CONSTANT ROW|\d+-ROW VALUES|responses USING INDEX responses_lease|agent_sessions USING (?:COVERING )?INDEX agent_sessions_(?:queue|lease)|requests USING (?:COVERING )?INDEX sqlite_autoindex)/;

it('reads no table as a whole', () => {
  const scans = [...statements].flatMap(([sql, parameters]) =>
    database
      .prepare(`explain query plan ${sql}`)
      .all(...parameters)
      .map((row) => String(row['detail']))
      .filter((detail) => READS_ALL.test(detail))
      .map((detail) => ({ sql, detail })),
  );
  expect(scans).toEqual([]);
});
