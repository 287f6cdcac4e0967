import { describe, expect, it } from 'vitest';

import { turnOf, type Different } from '../../../test/support/turn-request.ts';
import { failure } from '../../canonical/failure/failure.ts';
import type { Item, Produced } from '../../canonical/request/item.ts';
import type { Turn } from '../../canonical/context/turn-context.ts';
import { Refusals } from '../../codex/capabilities/refusals.ts';
import { ReasoningMemory, type RecalledHistory } from './reasoning-memory.ts';

const ID = 'call_Ab3dEf6hIj9lMn2pQr5t';
const HOUR_MS = 60 * 60_000;

const user: Item = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'go' }] };
const call = (callId: string): Produced => ({
  kind: 'tool-call',
  id: `fc_${callId}`,
  tool: 'function',
  callId,
  name: 'look',
  input: '{}',
});
const thought = (id: string, size = 10): Produced => ({
  kind: 'reasoning',
  id,
  summary: [],
  encryptedContent: 'x'.repeat(size),
});

const memoryOf = (maxBytes = 1_000_000) => {
  let now = 0;
  let told = 0;
  const clock = { now: () => now };
  const refusals = new Refusals(clock);
  const memory = new ReasoningMemory({
    maxBytes,
    clock,
    onChange: (bytes) => (told = bytes),
  });
  return {
    memory,
    told: () => told,
    pass: (ms: number) => (now += ms),
    refusals,
    backend: memory.of('backend', refusals),
  };
};

const asks = (different: Different = {}): Turn => turnOf({ items: [user], ...different });
const continues = (callId: string, different: Different = {}): Turn =>
  turnOf({
    items: [user, call(callId), { kind: 'tool-output', tool: 'function', callId, output: 'found' }],
    ...different,
  });

/** Whether reasoning comes back for a call. */
const recalls = ({ history }: RecalledHistory): boolean =>
  history.items.some((item) => item.kind === 'reasoning');

describe('the memory of reasoning', () => {
  it('is of one backend, one caller and one model', () => {
    const { memory, refusals, backend } = memoryOf();
    backend.remember(asks(), [thought('rs_1'), call(ID)]);
    expect(
      [
        backend.recall(continues(ID)),
        backend.recall(continues(ID, { keyId: 'another' })),
        backend.recall(continues(ID, { model: 'another' })),
        memory.of('another', refusals).recall(continues(ID)),
        backend.recall(continues('call_Zz9yXw8vUt7sRq6pOn5m')),
      ].map(recalls),
    ).toEqual([true, false, false, false, false]);
  });

  it('finds a random id in any conversation, and a number only in its own', () => {
    const { backend } = memoryOf();
    const elsewhere = { conversation: 'another' };
    for (const id of [ID, 'call_0', '0b9d3a52-8a5e-4a53-9d0e-5f2b1c7e6a11', 'functions.getTheWeather:0']) {
      backend.remember(asks(), [thought('rs_1'), call(id)]);
      const isDrawn = id === ID || id.startsWith('0b');
      expect([backend.recall(continues(id)), backend.recall(continues(id, elsewhere))].map(recalls)).toEqual([
        true,
        isDrawn,
      ]);
    }
  });

  it('distinguishes rounds in which a backend uses the same number', () => {
    const { backend } = memoryOf();
    const first = continues('call_0');
    backend.remember(asks(), [thought('rs_1'), call('call_0')]);
    backend.remember(first, [thought('rs_2'), call('call_0')]);
    const items = [...first.request.items, ...first.request.items.slice(1)];
    const ids = backend
      .recall(turnOf({ items }))
      .history.items.map(({ kind, id }) => (kind === 'reasoning' ? id : kind));
    expect(ids).toEqual(['message', 'rs_1', 'tool-call', 'tool-output', 'rs_2', 'tool-call', 'tool-output']);
  });

  it('remembers arguments only for clients that send them back as values', () => {
    const own = '{ "a": 1 }';
    const answer: Produced = { ...call(ID), input: own } as Produced;
    const forms: readonly Different[] = [{ parsesArguments: true }, {}];
    const held = forms.map((as) => {
      const { memory, backend } = memoryOf();
      backend.remember(asks(as), [answer]);
      const sent = continues(ID, as);
      const items = sent.request.items.map((item) =>
        item.kind === 'tool-call' ? { ...item, input: '{"b":2,"a":1}' } : item,
      );
      const { history } = backend.recall({ ...sent, request: { ...sent.request, items } });
      const inputs = history.items.flatMap((item) => (item.kind === 'tool-call' ? [item.input] : []));
      return [inputs, memory.bytes > 0];
    });
    expect(held).toEqual([
      [[own], true],
      [['{"b":2,"a":1}'], false],
    ]);
  });

  it('forgets the reasoning of a call whose id is used again without reasoning', () => {
    const { memory, backend } = memoryOf();
    backend.remember(asks(), [thought('rs_1'), call(ID)]);
    backend.remember(asks(), [call(ID)]);
    expect([recalls(backend.recall(continues(ID))), memory.bytes]).toEqual([false, 0]);
  });

  it('forgets what its backend could not read', () => {
    const { memory, backend } = memoryOf();
    backend.remember(asks(), [thought('rs_1'), call(ID)]);
    backend.refused(continues(ID), failure('invalid_prompt', { code: 'invalid_encrypted_content' }));
    expect([recalls(backend.recall(continues(ID))), memory.bytes]).toEqual([false, 0]);
    backend.remember(asks(), [thought('rs_1'), call(ID)]);
    expect(recalls(backend.recall(continues(ID)))).toBe(true);
  });

  it('is not used for a while if a backend takes no reasoning', () => {
    const { backend, pass } = memoryOf();
    const again = (): boolean => {
      backend.remember(asks(), [thought('rs_1'), call(ID)]);
      return recalls(backend.recall(continues(ID)));
    };
    expect(again()).toBe(true);
    backend.refused(continues(ID), failure('invalid_prompt'));
    expect(again()).toBe(false);
    pass(HOUR_MS);
    expect(again()).toBe(true);
  });

  it('forgets what was not needed for an hour', () => {
    const { memory, backend, pass, told } = memoryOf();
    backend.remember(asks(), [thought('rs_1'), call(ID)]);
    pass(HOUR_MS - 1);
    expect(recalls(backend.recall(continues(ID)))).toBe(true);
    pass(HOUR_MS - 1);
    expect(recalls(backend.recall(continues(ID)))).toBe(true);
    pass(HOUR_MS);
    expect([recalls(backend.recall(continues(ID))), memory.bytes, told()]).toEqual([false, 0, 0]);
  });

  it('keeps its limit, and the caller with the most loses its oldest answer', () => {
    const { memory, backend, told } = memoryOf(20_000);
    const idOf = (index: number): string => `call_${index}_Ab3dEf6hIj9lMn2pQr5t`;
    backend.remember(asks({ keyId: 'quiet' }), [thought('rs_q', 2_000), call(ID)]);
    for (let index = 0; index < 50; index += 1) {
      backend.remember(asks(), [thought(`rs_${index}`, 2_000), call(idOf(index))]);
      expect(memory.bytes).toBeLessThanOrEqual(20_000);
    }
    expect(memory.bytes).toBeGreaterThan(15_000);
    expect(told()).toBe(memory.bytes);
    const kept = Array.from({ length: 50 }, (_, index) => recalls(backend.recall(continues(idOf(index)))));
    expect([kept[0], kept[49]]).toEqual([false, true]);
    expect(recalls(backend.recall(continues(ID, { keyId: 'quiet' })))).toBe(true);
  });

  it('counts the memory of texts', () => {
    const wide: Produced = { kind: 'reasoning', id: 'rs_1', summary: [], content: ['–'.repeat(5_000)] };
    const held = [thought('rs_1', 5_000), wide].map((reasoning) => {
      const { memory, backend } = memoryOf();
      backend.remember(asks(), [reasoning, call(ID)]);
      return memory.bytes;
    });
    expect((held[1] ?? 0) - (held[0] ?? 0)).toBe(5_000);
  });

  it('holds nothing if it is off, and no answer larger than its limit', () => {
    for (const maxBytes of [0, 1_000]) {
      const { memory, backend } = memoryOf(maxBytes);
      backend.remember(asks(), [thought('rs_1', 5_000), call(ID)]);
      expect([recalls(backend.recall(continues(ID))), memory.bytes]).toEqual([false, 0]);
    }
  });
});
