import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { saidMessage } from '../support/item-events.ts';
import { ALL_METRICS, loadConfig } from '../../src/compose/features.ts';
import { valuesOf } from '../../src/config/schema.ts';
import { STATE_TABLES } from '../../src/features/state/feature.ts';
import { openServerStore } from '../../src/compose/open-store.ts';
import { stateStoreOf } from '../../src/features/state/store/state-store.ts';
import { keptIn } from '../../src/features/state/open.ts';
import { createTurnStates } from '../../src/features/state/turn-states.ts';
import type { Item, Produced } from '../../src/canonical/request/item.ts';
import { systemAmbient } from '../../src/kit/ambient.ts';
import { createLogger } from '../../src/observe/log.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import type { LocalResponse, LocalResponses, TurnState } from '../../src/turns/turn-state.ts';

const dir = await mkdtemp(path.join(tmpdir(), 'turn-states-'));
const config = loadConfig({ PROXY_STATE_DIR: dir });
const deps = { logger: createLogger({ level: 'silent' }), metrics: createMetrics(ALL_METRICS) };
const serverStore = await openServerStore(config, deps);
const { store } = serverStore;
if (store === null) throw new Error('nothing is stored');
const states = createTurnStates({
  kept: keptIn(
    stateStoreOf(store),
    { ambient: systemAmbient, logger: deps.logger, storeTtlMs: 60_000 },
    { settings: valuesOf(STATE_TABLES.settings, config), metrics: deps.metrics as never },
  ),
  ambient: systemAmbient,
  onUnstored(error) {
    throw error;
  },
});
afterAll(async () => {
  await serverStore.close();
  await rm(dir, { recursive: true });
});

/** What one WebSocket remembers. */
class Connection implements LocalResponses {
  readonly known = new Map<string, LocalResponse>();
  find(id: string): LocalResponse | null {
    return this.known.get(id) ?? null;
  }
  add(id: string, response: LocalResponse): void {
    this.known.set(id, response);
  }
}

const open = (previous: string | null, local: LocalResponses | null = null, caller = 'key_a') =>
  states.open({
    caller,
    references: { continues: previous === null ? null : { kind: 'response', id: previous } },
    signal: new AbortController().signal,
    onBytes() {},
    local,
  });

const user = (text: string): Item => ({ kind: 'message', role: 'user', parts: [{ kind: 'text', text }] });
const said = (text: string): Produced => saidMessage(systemAmbient.ids.mint('msg'), text);

/** Answers a request, and returns the id of the response. */
const answer = async (opened: TurnState, text: string, isStored: boolean): Promise<string> => {
  const id = systemAmbient.ids.mint('resp');
  const made = [said(`${text}!`)];
  const reply = { items: made, outcome: { kind: 'completed' }, usage: null, endedAt: 0 } as const;
  const isKept = await opened.record({
    keeps: { kind: 'response', id, createdAt: 0, isStored, input: [user(text)], include: [], queued: null },
    cacheKey: 'cache',
    turns: [{ made, reply }],
    signal: new AbortController().signal,
    project: () => ({ id, object: 'response', status: 'completed', output: [] }),
  });
  expect(isKept).toBe(true);
  return id;
};

const textsOf = ({ loaded }: TurnState): readonly string[] =>
  loaded.chain.flatMap((item) =>
    item.kind === 'message' ? item.parts.map((part) => (part.kind === 'text' ? part.text : '')) : [],
  );

describe('the memory of a connection', () => {
  it('has what is not stored, for this connection only', async () => {
    const connection = new Connection();
    const first = await answer(await open(null, connection), 'a', false);
    const second = await answer(await open(first, connection), 'b', false);
    expect(textsOf(await open(second, connection))).toEqual(['a', 'a!', 'b', 'b!']);
    for (const other of [new Connection(), null]) {
      await expect(open(second, other)).rejects.toMatchObject({
        failure: { code: 'previous_response_not_found', param: 'previous_response_id' },
      });
    }
  });

  it('does not have what is stored', async () => {
    const connection = new Connection();
    const first = await answer(await open(null, connection), 'a', true);
    expect(connection.known.size).toBe(0);
    expect(textsOf(await open(first, connection))).toEqual(['a', 'a!']);
  });

  it('becomes a part of the first turn that is stored', async () => {
    const connection = new Connection();
    const first = await answer(await open(null, connection), 'a', false);
    const second = await answer(await open(first, connection), 'b', true);
    const third = await answer(await open(second), 'c', true);
    expect(textsOf(await open(third))).toEqual(['a', 'a!', 'b', 'b!', 'c', 'c!']);
  });

  it('grows by what is new', async () => {
    const connection = new Connection();
    const first = await answer(await open(null, connection), 'a', false);
    const second = await answer(await open(first, connection), 'b', false);
    const [one, two] = [first, second].map((id) => connection.find(id)?.bytes ?? 0);
    expect(two).toBe(2 * (one ?? 0));
  });
});

describe('a stored response', () => {
  it('can be continued more than once, and only by its owner', async () => {
    const first = await answer(await open(null), 'a', true);
    const left = await answer(await open(first), 'left', true);
    const right = await answer(await open(first), 'right', true);
    expect(textsOf(await open(left))).toEqual(['a', 'a!', 'left', 'left!']);
    expect(textsOf(await open(right))).toEqual(['a', 'a!', 'right', 'right!']);
    await expect(open(right, null, 'key_b')).rejects.toMatchObject({
      failure: { code: 'previous_response_not_found' },
    });
  });

  it('keeps the key of its conversation for the prompt cache', async () => {
    const first = await answer(await open(null), 'a', true);
    expect((await open(first)).cacheKey).toBe('cache');
  });
});
