import { describe, expect, it } from 'vitest';

import { fakeMemoryStore } from '../../../test/support/memory-store.ts';
import { turnOf, type Different } from '../../../test/support/turn-request.ts';
import { failure } from '../../canonical/failure/failure.ts';
import type { Item, Produced } from '../../canonical/request/item.ts';
import type { Turn } from '../../canonical/context/turn-context.ts';
import { Refusals } from '../../codex/capabilities/refusals.ts';
import { ReasoningMemory, REMEMBERED_FOR_MS } from '../../engine/memory/reasoning-memory.ts';
import { MemoryAccess } from './memory-access.ts';
import { StoredReasoning } from './stored-reasoning.ts';

const MINUTE_MS = 60_000;

const user: Item = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'a secret question' }] };
const idOf = (name: string): string => `call_Ab3dEf6hIj9lMn2pQr5t${name}`;
const call = (name: string): Produced => ({
  kind: 'tool-call',
  id: `fc_${name}`,
  tool: 'function',
  callId: idOf(name),
  name: 'look',
  input: '{}',
});
const output = (name: string): Item => ({
  kind: 'tool-output',
  tool: 'function',
  callId: idOf(name),
  output: 'found',
});
const thought = (id: string, size = 10): Produced => ({
  kind: 'reasoning',
  id,
  summary: ['a secret thought'],
  encryptedContent: 'x'.repeat(size),
});

const asks = (different: Different = {}): Turn => turnOf({ items: [user], ...different });
const continues = (names: readonly string[], different: Different = {}): Turn =>
  turnOf({ items: [user, ...names.map(call), ...names.map(output)], ...different });

const opened = () => {
  let now = Date.UTC(2026, 10);
  const clock = { now: () => now };
  const memory = fakeMemoryStore(clock);
  const noted = { overflows: 0, errors: 0 };
  /** An instance. All share the store. */
  const start = () => {
    const shared = new StoredReasoning({
      memory,
      access: new MemoryAccess({ clock, onTrouble: () => (noted.errors += 1) }),
      ttlMs: REMEMBERED_FOR_MS,
      clock,
      onOverflow: () => (noted.overflows += 1),
    });
    const all = new ReasoningMemory({ maxBytes: 1_000_000, clock, onChange() {}, shared });
    const backend = all.of('backend', new Refusals(clock));
    /** The kinds of items that a turn of this instance sends. */
    const sent = async (turn: Turn): Promise<string> => {
      const { missing } = backend.recall(turn);
      await backend.load(turn, missing);
      const { items } = backend.recall(turn).history;
      return items.map((item) => (item.kind === 'reasoning' ? item.id : item.kind)).join(' ');
    };
    return { shared, backend, sent, other: all.of('another', new Refusals(clock)) };
  };
  const gets = (): number => memory.calls.filter((one) => one.startsWith('get')).length;
  return { memory, noted, start, gets, pass: (ms: number) => (now += ms) };
};

describe('reasoning in the store', () => {
  it('is restored on another instance as on the first one', async () => {
    const { start } = opened();
    const [one, two] = [start(), start()];
    one.backend.remember(asks(), [thought('rs_1'), call('a'), thought('rs_2'), call('b')]);
    await one.shared.settled();
    const turn = continues(['a', 'b']);
    const restored = 'message rs_1 tool-call rs_2 tool-call tool-output tool-output';
    expect([await one.sent(turn), await two.sent(turn)]).toEqual([restored, restored]);
    expect(two.backend.recall(turn)).toEqual(one.backend.recall(turn));
  });

  it('is of one backend, one caller and one model', async () => {
    const { start } = opened();
    const one = start();
    one.backend.remember(asks(), [thought('rs_1'), call('a')]);
    await one.shared.settled();
    const { backend, other } = start();
    const known = (of: typeof backend, turn: Turn): Promise<boolean> =>
      of.load(turn, of.recall(turn).missing);
    expect([
      await known(backend, continues(['a'], { keyId: 'another' })),
      await known(backend, continues(['a'], { model: 'another' })),
      await known(other, continues(['a'])),
      await known(backend, continues(['a'])),
    ]).toEqual([false, false, false, true]);
  });

  it('is not stored if the client wants nothing stored, but remembered', async () => {
    const { memory, start, pass } = opened();
    const { backend, shared, sent } = start();
    const unstored = (turn: Turn): Turn => ({ ...turn, context: { ...turn.context, isUnstored: true } });
    backend.remember(unstored(asks()), [thought('rs_1'), call('a')]);
    pass(40 * MINUTE_MS);
    expect(await sent(unstored(continues(['a'])))).toContain('rs_1');
    await shared.settled();
    expect(memory.calls).toEqual([]);
  });

  it('is under keys of one length that contain nothing of the request', async () => {
    const { memory, start } = opened();
    const one = start();
    const numbered: Item = { ...call('a'), callId: 'call_0' } as Item;
    one.backend.remember(asks(), [thought('rs_1'), call('a')]);
    one.backend.remember(asks(), [thought('rs_1'), numbered as Produced]);
    await one.shared.settled();
    expect([...memory.rows.keys()]).toEqual([
      expect.stringMatching(/^reasoning [0-9a-f]{64}$/),
      expect.stringMatching(/^reasoning [0-9a-f]{64}$/),
    ]);
  });

  it('is stored once for parallel calls', async () => {
    const { memory, start } = opened();
    const one = start();
    one.backend.remember(asks(), [thought('rs_1', 5_000), call('a')]);
    one.backend.remember(asks(), [thought('rs_1', 5_000), call('a'), call('b'), call('c')]);
    await one.shared.settled();
    expect(memory.calls).toEqual(['put reasoning 1', 'put reasoning 1', 'put reasoning 1']);
    const sizes = [...memory.rows.values()].map(({ value }) => value.length);
    expect([sizes.length, sizes.filter((size) => size > 5_000).length]).toEqual([3, 1]);
  });

  it('lives for an hour after the last request that needed it', async () => {
    const { start, pass } = opened();
    const one = start();
    one.backend.remember(asks(), [thought('rs_1'), call('a')]);
    const turn = continues(['a']);
    for (let nth = 0; nth < 4; nth += 1) {
      pass(40 * MINUTE_MS);
      expect(await one.sent(turn)).toContain('rs_1');
      await one.shared.settled();
    }
    pass(59 * MINUTE_MS);
    expect(await start().sent(turn)).toContain('rs_1');
    pass(REMEMBERED_FOR_MS);
    expect(await start().sent(turn)).not.toContain('rs_1');
  });

  it('lives longer if another instance needs it', async () => {
    const { start, pass } = opened();
    const [one, two] = [start(), start()];
    one.backend.remember(asks(), [thought('rs_1'), call('a')]);
    await one.shared.settled();
    pass(40 * MINUTE_MS);
    expect(await two.sent(continues(['a']))).toContain('rs_1');
    await two.shared.settled();
    pass(40 * MINUTE_MS);
    expect(await start().sent(continues(['a']))).toContain('rs_1');
  });

  it('is forgotten everywhere if the backend cannot read it, or the id is used again', async () => {
    const { memory, start } = opened();
    const [one, two] = [start(), start()];
    one.backend.remember(asks(), [thought('rs_1'), call('a')]);
    one.backend.remember(asks(), [thought('rs_2'), call('b')]);
    await one.shared.settled();
    await two.sent(continues(['a']));
    two.backend.refused(continues(['a']), failure('invalid_prompt', { code: 'invalid_encrypted_content' }));
    one.backend.remember(asks(), [call('b')]);
    await Promise.all([one.shared.settled(), two.shared.settled()]);
    expect([...memory.rows]).toEqual([]);
  });

  it('is forgotten at once by the instance that drops it, before the store has written that', async () => {
    const unreadable = failure('invalid_prompt', { code: 'invalid_encrypted_content' });
    const { memory, start, pass } = opened();
    const { backend, shared, sent } = start();
    const turn = continues(['a']);
    backend.remember(asks(), [thought('rs_1'), call('a')]);
    await shared.settled();
    memory.holdDrops = true;
    backend.refused(turn, unreadable);
    expect(await sent(turn)).not.toContain('rs_1');
    // However long the store takes.
    pass(10 * MINUTE_MS);
    expect([await sent(turn), memory.rows.size]).toEqual(['message tool-call tool-output', 1]);
    memory.holdDrops = false;
    backend.remember(asks(), [thought('rs_2'), call('a')]);
    expect(await sent(turn)).toContain('rs_2');
  });

  it('is forgotten although it was being read while it was dropped', async () => {
    const { start } = opened();
    const one = start();
    one.backend.remember(asks(), [thought('rs_1'), call('a')]);
    await one.shared.settled();
    const two = start();
    const turn = continues(['a']);
    const loading = two.backend.load(turn, two.backend.recall(turn).missing);
    two.backend.remember(asks(), [thought('rs_2'), call('a')]);
    two.backend.remember(asks(), [call('a')]);
    expect(await loading).toBe(false);
    await two.shared.settled();
    expect(await two.sent(turn)).not.toContain('rs_');
  });
});

describe('the store', () => {
  it('is asked once for all calls that are not in memory, and not if there are none', async () => {
    const { memory, start } = opened();
    const one = start();
    one.backend.remember(asks(), [thought('rs_1'), call('a')]);
    await one.sent(continues(['a']));
    await one.sent(asks());
    await one.shared.settled();
    expect(memory.calls).toEqual(['put reasoning 1']);
    await one.sent(continues(['a', 'b', 'c']));
    expect(memory.calls.slice(1)).toEqual(['get reasoning 2']);
  });

  it('is not asked for calls whose reasoning the client sent', async () => {
    const { memory, start } = opened();
    await start().sent(turnOf({ items: [user, thought('rs_1'), call('a'), output('a')] }));
    expect(memory.calls).toEqual([]);
  });

  it('is asked for the newest two hundred calls only', async () => {
    const { memory, start } = opened();
    await start().sent(continues(Array.from({ length: 300 }, (_, index) => `n${index}`)));
    expect(memory.calls).toEqual(['get reasoning 200']);
  });

  it('is asked less and less often for what it does not have', async () => {
    const { start, gets, pass } = opened();
    const { sent } = start();
    const turn = continues(['a']);
    await sent(turn);
    for (let second = 0; second < 300; second += 1) {
      pass(1_000);
      await sent(turn);
    }
    // After 1, 2, 4, 8, 16, 32, and then every 60 seconds.
    expect(gets()).toBe(1 + 6 + 3);
  });

  it('is asked again for what another instance wrote a moment later', async () => {
    const { start, pass } = opened();
    const [one, two] = [start(), start()];
    expect(await two.sent(continues(['a']))).not.toContain('rs_1');
    one.backend.remember(asks(), [thought('rs_1'), call('a')]);
    await one.shared.settled();
    pass(1_000);
    expect(await two.sent(continues(['a']))).toContain('rs_1');
  });

  it('may be gone: turns continue with what is in memory', async () => {
    const { memory, noted, start } = opened();
    memory.mode = 'down';
    const [one, two] = [start(), start()];
    one.backend.remember(asks(), [thought('rs_1'), call('a')]);
    await one.shared.settled();
    expect([await one.sent(continues(['a'])), await two.sent(continues(['a']))]).toEqual([
      'message rs_1 tool-call tool-output',
      'message tool-call tool-output',
    ]);
    expect(noted).toEqual({ overflows: 0, errors: 2 });
  });

  it('may be slow: what waits to be written is limited', async () => {
    const { memory, noted, start } = opened();
    memory.mode = 'silent';
    const { backend, shared } = start();
    for (let index = 0; index < 10_050; index += 1)
      shared.save([`key ${index}`], { steps: [], calls: new Map() });
    expect(noted.overflows).toBe(50);
    // Larger than one answer may be in the store.
    shared.save(['large'], {
      steps: [{ kind: 'reasoning', reasoning: thought('rs_1', 1_100_000) as never }],
      calls: new Map(),
    });
    expect(noted.overflows).toBe(50);
    expect(backend.recall(asks()).missing).toEqual([]);
  });

  it('may contain what this program cannot read', async () => {
    const { memory, start } = opened();
    const one = start();
    one.backend.remember(asks(), [thought('rs_1'), call('a'), call('b')]);
    await one.shared.settled();
    const [first, second] = memory.rows.keys();
    const expiresAt = Infinity;
    for (const value of [
      '',
      'null',
      '{"form":2,"steps":[]}',
      '{"form":1,"steps":null}',
      '{"form":1,"see":"x"}',
    ]) {
      memory.rows.set(String(first), { value, expiresAt });
      expect(await start().sent(continues(['a', 'b']))).toBe(
        'message tool-call tool-call tool-output tool-output',
      );
    }
    expect(second).toBeDefined();
  });
});
