import { expect, it } from 'vitest';

import { agentStoreOf } from '../../src/features/agents/store/agent-store.ts';
import type { AgentSessionRow, AgentStore, SessionChange } from '../../src/features/agents/store/port.ts';
import { DAY, describeStores, KEYS, type StoreHarness } from '../support/store-harness.ts';

const EVERY_ROW = { after: null, order: 'asc', limit: 100 } as const;

const changeOf = (harness: StoreHarness, different: Partial<SessionChange> = {}): SessionChange => ({
  phase: 'idle',
  queuedAt: null,
  deadlineAt: null,
  lastActiveAt: harness.clock.time,
  expiresAt: harness.clock.time + DAY,
  state: '{}',
  settings: '{}',
  metadata: {},
  events: [],
  turns: [],
  items: [],
  nextItem: 0,
  eventsExpireAt: harness.clock.time + DAY,
  expireEventsAt: null,
  inputKey: null,
  room: null,
  ...different,
});

interface Made {
  readonly owner?: string;
  readonly workspace?: string;
  readonly agentId?: string;
  readonly change?: Partial<SessionChange>;
}

const add = async (
  harness: StoreHarness,
  { owner = 'alice', workspace = '', agentId = 'agent_1', change = {} }: Made = {},
): Promise<AgentSessionRow> => {
  const row: AgentSessionRow = {
    id: harness.newId('asess'),
    owner,
    agentId,
    workspace,
    phase: 'idle',
    rev: 0,
    nextEvent: 1,
    nextItem: 0,
    createdAt: harness.clock.time,
    lastActiveAt: harness.clock.time,
    queuedAt: null,
    deadlineAt: null,
    metadata: {},
    settings: '{}',
    state: '{}',
  };
  harness.clock.time += 1;
  const made = await storeOf(harness).agentSessions.create(row, changeOf(harness, change), 1_000);
  if (typeof made === 'string') throw new Error(made);
  return made;
};

const storeOf = ({ store }: StoreHarness): AgentStore => agentStoreOf(store);

const queued = (harness: StoreHarness): Partial<SessionChange> => ({
  phase: 'queued',
  queuedAt: harness.clock.time,
});

const sessions = (open: () => StoreHarness): void => {
  it('are created, changed and deleted', async () => {
    const harness = open();
    const { agentSessions } = storeOf(harness);
    const made = await add(harness, { change: { metadata: { a: 'b' }, state: '{"text":"\\uD800"}' } });
    expect(await agentSessions.find('alice', made.id)).toEqual(made);
    expect(await agentSessions.find('bob', made.id)).toBe(null);
    const changed = await agentSessions.change(
      'alice',
      made.id,
      made.rev,
      changeOf(harness, { state: '{"b":2}', metadata: { c: 'd' } }),
    );
    expect(changed).toMatchObject({ rev: made.rev + 1, state: '{"b":2}', metadata: { c: 'd' } });
    expect(await agentSessions.change('alice', made.id, made.rev, changeOf(harness))).toBe('conflict');
    expect(await agentSessions.change('bob', made.id, made.rev + 1, changeOf(harness))).toBe('gone');
    expect(await agentSessions.delete('alice', made.id, made.rev)).toBe('conflict');
    expect(await agentSessions.delete('alice', made.id, made.rev + 1)).toBe('deleted');
    expect(await agentSessions.find('alice', made.id)).toBe(null);
    expect(await harness.sql(`select * from agent_session_metadata where session_id = '${made.id}'`)).toEqual(
      [],
    );
  });

  it('are changed by one of several at the same time', async () => {
    const harness = open();
    const { agentSessions } = storeOf(harness);
    const { id, rev } = await add(harness);
    const results = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        agentSessions.change(
          'alice',
          id,
          rev,
          changeOf(harness, { state: String(index), events: [`"${index}"`] }),
        ),
      ),
    );
    expect(results.filter((result) => result === 'conflict')).toHaveLength(7);
    const { state } = (await agentSessions.find('alice', id))!;
    expect(await storeOf(harness).agentEvents.after('alice', id, 0, 1_000)).toEqual([
      { first: 1, events: [`"${state}"`] },
    ]);
  });

  it('are listed by their agent and metadata, and counted', async () => {
    const harness = open();
    const { agentSessions } = storeOf(harness);
    const owner = harness.newId('owner');
    const one = await add(harness, { owner, change: { metadata: { team: 'a', of: 'x' } } });
    const two = await add(harness, {
      owner,
      agentId: 'agent_2',
      change: { metadata: { team: 'b', of: 'x' } },
    });
    const ids = async (page: object) =>
      (await agentSessions.list(owner, { ...EVERY_ROW, agentId: null, metadata: {}, ...page }))?.map(
        ({ id }) => id,
      );
    expect(await ids({})).toEqual([one.id, two.id]);
    expect(await ids({ order: 'desc', limit: 1 })).toEqual([two.id]);
    expect(await ids({ after: one.id })).toEqual([two.id]);
    expect(await ids({ after: 'nothing' })).toBe(undefined);
    expect(await ids({ agentId: 'agent_2' })).toEqual([two.id]);
    expect(await ids({ metadata: { of: 'x', team: 'a' } })).toEqual([one.id]);
    const more = { ...one, id: harness.newId('asess') };
    expect(await agentSessions.create(more, changeOf(harness), 2)).toBe('limit');
  });

  it('have turns, items and events, which are read in pages', async () => {
    const harness = open();
    const { agentSessions, agentEvents } = storeOf(harness);
    const { id, rev } = await add(harness, { change: { events: ['"created"'] } });
    const turn = (pos: number, body: string) => ({ id: `turn_${pos}`, pos, body });
    const item = (pos: number, body: string | null, raw: string | null) => ({
      id: `item_${pos}`,
      pos,
      turnId: 'turn_1',
      body,
      raw,
    });
    const change = changeOf(harness, {
      turns: [turn(1, '"one"'), turn(2, '"two"')],
      items: [item(0, '"a"', '[0]'), item(1, null, '[1]'), item(2, '"c"', null)],
      nextItem: 3,
      events: ['"1"', '"2"'],
    });
    await agentSessions.change('alice', id, rev, change);
    expect((await agentSessions.find('alice', id))?.nextItem).toBe(3);
    await agentSessions.change(
      'alice',
      id,
      rev + 1,
      changeOf(harness, {
        turns: [turn(2, '"again"')],
        items: [
          { id: 'item_2', pos: 2, turnId: 'turn_1', raw: '[2]' },
          { id: 'item_0', pos: 0, turnId: 'turn_1', body: '"A"' },
        ],
        events: ['"3"'],
      }),
    );
    expect(await agentSessions.turns('alice', id, { ...EVERY_ROW, after: 'turn_1' })).toEqual([
      turn(2, '"again"'),
    ]);
    expect(await agentSessions.turn('alice', id, 'turn_1')).toEqual(turn(1, '"one"'));
    const shown = async (page: object) =>
      (await agentSessions.items('alice', id, null, { ...EVERY_ROW, ...page }))?.map(({ body }) => body);
    expect(await shown({})).toEqual(['"A"', '"c"']);
    expect(await shown({ order: 'desc', after: 'item_2' })).toEqual(['"A"']);
    expect(await shown({ after: 'item_9' })).toBe(undefined);
    expect(await agentSessions.items('alice', id, 'turn_2', EVERY_ROW)).toEqual([]);
    const heard = async (from: number, chars: number) =>
      (await agentSessions.history('alice', id, from, chars)).map(({ raw }) => raw);
    expect(await heard(0, 1_000)).toEqual(['[0]', '[1]', '[2]']);
    expect(await heard(0, 1)).toEqual(['[0]']);
    expect(await heard(1, 3)).toEqual(['[1]']);
    expect(await agentEvents.after('alice', id, 0, 1_000)).toEqual([
      { first: 1, events: ['"created"'] },
      { first: 2, events: ['"1"', '"2"'] },
      { first: 4, events: ['"3"'] },
    ]);
    expect(await agentEvents.after('alice', id, 2, 1)).toEqual([{ first: 2, events: ['"1"', '"2"'] }]);
    expect(await agentEvents.after('bob', id, 0, 1_000)).toEqual([]);
    // What has ended is kept for a while.
    await agentSessions.change(
      'alice',
      id,
      rev + 2,
      changeOf(harness, { expireEventsAt: harness.clock.time + 10 }),
    );
    harness.clock.time += 10;
    expect(await agentEvents.after('alice', id, 0, 1_000)).toEqual([]);
  });

  it('accept a request with a key once', async () => {
    const harness = open();
    const { agentSessions } = storeOf(harness);
    const { id, rev } = await add(harness);
    const inputKey = { key: 'k', body: 'digest', expiresAt: harness.clock.time + 100 };
    expect(await agentSessions.inputOf('alice', id, 'k')).toBe(null);
    expect(await agentSessions.change('alice', id, rev, changeOf(harness, { inputKey }))).toMatchObject({
      id,
    });
    expect(
      await agentSessions.change('alice', id, rev + 1, changeOf(harness, { inputKey, state: '"lost"' })),
    ).toBe('conflict');
    expect((await agentSessions.find('alice', id))?.state).toBe('{}');
    expect(await agentSessions.inputOf('alice', id, 'k')).toBe('digest');
    expect(await agentSessions.inputOf('bob', id, 'k')).toBe(null);
    harness.clock.time += 100;
    expect(await agentSessions.inputOf('alice', id, 'k')).toBe(null);
    const again = { ...inputKey, expiresAt: harness.clock.time + 100 };
    expect(
      await agentSessions.change('alice', id, rev + 1, changeOf(harness, { inputKey: again })),
    ).toMatchObject({ id });
  });

  it('run one after the other in a workspace, in the order of their arrival', async () => {
    const harness = open();
    const { agentSessions } = storeOf(harness);
    const workspace = harness.newId('web');
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      ids.push((await add(harness, { workspace, change: queued(harness) })).id);
      harness.clock.time += 1;
    }
    const other = await harness.openAnother();
    const lease = (instance: string) => ({ instance, beat: 0 });
    expect(await agentSessions.queues()).toContain(workspace);
    const claims = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        (index % 2 === 0 ? agentSessions : agentStoreOf(other).agentSessions).claim(
          workspace,
          lease(`i${index % 2}`),
          1,
        ),
      ),
    );
    const first = claims.filter((row) => row !== null);
    expect(first.map(({ id }) => id)).toEqual([ids[0]]);
    const [claimed] = first;
    expect(claimed).toMatchObject({ phase: 'running', queuedAt: null });
    await agentSessions.change('alice', claimed!.id, claimed!.rev, changeOf(harness));
    expect((await agentSessions.claim(workspace, lease('i'), 2))?.id).toBe(ids[1]);
    expect((await agentSessions.claim(workspace, lease('i'), 2))?.id).toBe(ids[2]);
    expect(await agentSessions.queues()).not.toContain(workspace);
    await add(harness, { workspace, change: queued(harness) });
    const room = { maxQueued: 1, runs: 2 };
    const { id, rev } = await add(harness, { workspace });
    expect(
      await agentSessions.change('alice', id, rev, changeOf(harness, { ...queued(harness), room })),
    ).toBe('full');
    expect(
      await agentSessions.change(
        'alice',
        id,
        rev,
        changeOf(harness, { ...queued(harness), room: { ...room, runs: 3 } }),
      ),
    ).toMatchObject({ phase: 'queued' });
  });

  it('of one key do not take the places of others if they have no workspace', async () => {
    const harness = open();
    const { agentSessions } = storeOf(harness);
    const [owner, other] = [harness.newId('owner'), harness.newId('owner')];
    const room = { maxQueued: 1, runs: 0 };
    const turn = () => changeOf(harness, { ...queued(harness), room });
    const first = await add(harness, { owner });
    const second = await add(harness, { owner });
    const third = await add(harness, { owner: other });
    expect(await agentSessions.change(owner, first.id, first.rev, turn())).toMatchObject({ phase: 'queued' });
    expect(await agentSessions.change(owner, second.id, second.rev, turn())).toBe('full');
    expect(await agentSessions.change(other, third.id, third.rev, turn())).toMatchObject({ phase: 'queued' });
  });

  it('are added to by the instance that runs them', async () => {
    const harness = open();
    const { agentSessions, agentEvents } = storeOf(harness);
    const workspace = harness.newId('web');
    const { id } = await add(harness, { workspace, change: queued(harness) });
    const claimed = (await agentSessions.claim(workspace, { instance: 'i', beat: 3 }, 1))!;
    const writes = {
      events: ['"1"'],
      turns: [],
      items: [],
      nextItem: 4,
      eventsExpireAt: harness.clock.time + DAY,
    };
    const at = { instance: 'i', first: claimed.nextEvent };
    // A repeated write changes nothing.
    expect(await agentSessions.append('alice', id, at, writes)).toBe(true);
    expect(await agentSessions.append('alice', id, at, writes)).toBe(true);
    expect(await agentSessions.append('alice', id, { instance: 'j', first: at.first + 1 }, writes)).toBe(
      false,
    );
    expect(await agentEvents.after('alice', id, 0, 1_000)).toEqual([{ first: 1, events: ['"1"'] }]);
    expect(await agentSessions.renew({ instance: 'i', beat: 4 }, [id, 'other'])).toEqual(['other']);
    const seen = (await agentSessions.leases(1_000)).filter((lease) => lease.id === id);
    expect(seen).toEqual([{ id, instance: 'i', beat: 4 }]);
    expect(await agentSessions.take({ instance: 'j', beat: 0 }, [{ ...seen[0]!, beat: 3 }])).toEqual([]);
    expect(await agentSessions.take({ instance: 'j', beat: 0 }, seen)).toMatchObject([
      { id, phase: 'running' },
    ]);
    expect(await agentSessions.renew({ instance: 'i', beat: 5 }, [id])).toEqual([id]);
    expect(await agentSessions.append('alice', id, { instance: 'i', first: at.first + 1 }, writes)).toBe(
      false,
    );
  });

  it('wait for their clients up to a time', async () => {
    const harness = open();
    const { agentSessions } = storeOf(harness);
    const { id } = await add(harness, { change: { phase: 'waiting', deadlineAt: harness.clock.time + 50 } });
    const late = async () => (await agentSessions.overdue(1_000)).some((session) => session.id === id);
    expect(await late()).toBe(false);
    harness.clock.time += 50;
    expect(await late()).toBe(true);
  });

  it('wake those that watch them', async () => {
    const harness = open();
    const seen: string[] = [];
    const stop = harness.store.watch((id, what) => void seen.push(`${what} ${id}`));
    const { id, rev } = await add(harness);
    const { agentSessions } = storeOf(harness);
    await agentSessions.change('alice', id, rev, changeOf(harness));
    await agentSessions.delete('alice', id, rev + 1);
    stop();
    expect(seen.filter((line) => line.endsWith(id))).toEqual(Array.from({ length: 3 }, () => `status ${id}`));
  });

  it('expire with all that belongs to them', async () => {
    const harness = open();
    const { agentSessions, agentApprovals, savedAgents } = storeOf(harness);
    const owner = harness.newId('owner');
    const { clock } = harness;
    const expiresAt = clock.time + 100;
    const session = await add(harness, {
      owner,
      change: {
        expiresAt,
        events: ['"1"'],
        turns: [{ id: 't', pos: 1, body: '1' }],
        nextItem: 1,
        items: [{ id: 'i', pos: 0, turnId: 't', body: '1', raw: '[]' }],
        metadata: { a: 'b' },
      },
    });
    await agentSessions.change(
      owner,
      session.id,
      session.rev,
      changeOf(harness, { expiresAt, inputKey: { key: 'k', body: 'b', expiresAt } }),
    );
    await savedAgents.add({
      id: harness.newId('agent'),
      owner,
      createdAt: clock.time,
      expiresAt,
      body: '{}',
    });
    expect(await agentApprovals.useApproval(owner, 'call_1', expiresAt)).toBe(true);
    expect(await agentApprovals.useApproval(owner, 'call_1', expiresAt)).toBe(false);
    expect(await agentApprovals.useApproval('bob', `call_${owner}`, expiresAt)).toBe(true);
    clock.time = expiresAt;
    expect(await agentSessions.find(owner, session.id)).toBe(null);
    while ((await harness.store.sweep(100)) > 0);
    for (const table of ['agent_sessions', 'agent_turns', 'agent_items', 'agents', 'agent_approvals']) {
      expect(await harness.sql(`select * from ${table} where owner = '${owner}'`)).toEqual([]);
    }
    expect(await harness.store.kept.bytes(owner)).toBe(0);
  });
};

const savedAgents = (open: () => StoreHarness): void => {
  it('are added, found, listed, changed and deleted', async () => {
    const harness = open();
    const { savedAgents: agents } = storeOf(harness);
    const owner = harness.newId('owner');
    const expiresAt = harness.clock.time + DAY;
    const rows = [];
    for (const body of ['"one"', '"two"']) {
      harness.clock.time += 1;
      const row = { id: harness.newId('agent'), createdAt: harness.clock.time, body };
      await agents.add({ ...row, owner, expiresAt });
      rows.push(row);
    }
    const [one, two] = rows;
    expect(await agents.find(owner, one!.id, expiresAt)).toEqual(one);
    expect(await agents.find('bob', one!.id, expiresAt)).toBe(null);
    expect(await agents.list(owner, { ...EVERY_ROW, order: 'desc' })).toEqual([two, one]);
    expect(await agents.list(owner, { ...EVERY_ROW, after: one!.id })).toEqual([two]);
    expect(await agents.list(owner, { ...EVERY_ROW, after: 'nothing' })).toBe(null);
    expect(await agents.update(owner, one!.id, { from: '"other"', body: '"three"', expiresAt })).toBe(false);
    expect(await agents.update(owner, one!.id, { from: '"one"', body: '"three"', expiresAt })).toBe(true);
    expect((await agents.find(owner, one!.id, expiresAt))?.body).toBe('"three"');
    expect([await agents.delete(owner, one!.id), await agents.delete(owner, one!.id)]).toEqual([true, false]);
    // A use keeps them.
    harness.clock.time += DAY - 10;
    await agents.find(owner, two!.id, harness.clock.time + DAY);
    harness.clock.time += DAY - 1;
    expect(await agents.list(owner, EVERY_ROW)).toEqual([two]);
  });
};

describeStores('sessions of agents', sessions);
describeStores('sessions of agents with a key', sessions, { keys: [KEYS[0]], kinds: ['sqlite'] });
describeStores('saved agents', savedAgents);
