import { expect, it } from 'vitest';

import { failure } from '../../canonical/failure/failure.ts';
import type { Usage } from '../../canonical/events/usage.ts';
import type { Part } from '../../canonical/request/item.ts';
import { PLAIN_REQUEST, type TurnRequest } from '../../canonical/request/turn-request.ts';
import type { TurnEnding } from '../../observe/observer.ts';
import { estimateInput, RunMeter } from './run-meter.ts';

const USAGE: Usage = {
  inputTokens: 10,
  cachedInputTokens: 4,
  cacheWriteInputTokens: 0,
  outputTokens: 5,
  reasoningTokens: 2,
  totalTokens: 15,
};
const failed = failure('upstream_error');
const ENDINGS = {
  completed: { kind: 'ended', outcome: { kind: 'completed' } },
  failed: { kind: 'ended', outcome: { kind: 'failed', failure: failed } },
  thrown: { kind: 'thrown', failure: failed },
  abandoned: { kind: 'abandoned' },
} satisfies Record<string, TurnEnding>;

const run = (meter: RunMeter, ending: TurnEnding, usage: Usage | null, text: string): void => {
  const turn = meter.watch();
  turn.onStart?.();
  if (text !== '') {
    turn.onEvent?.({
      type: 'item-started',
      item: { kind: 'message', id: 'a', role: 'assistant', status: 'in_progress', parts: [] } as never,
    });
    turn.onEvent?.({ type: 'item-delta', itemId: 'a', at: 'text' as never, delta: text });
  }
  turn.onEnd?.({ ending, usage, firstEventMs: 0, durationMs: 0 });
};

const spentBy = (ending: TurnEnding, usage: Usage | null, text = '', asked = 1) => {
  const meter = new RunMeter({ inputTokens: 100, asked: () => asked });
  run(meter, ending, usage, text);
  return meter.spent;
};

const NOTHING = { turns: 0, inputTokens: 0, cachedInputTokens: 0, outputTokens: 0 };
const REAL = { turns: 1, inputTokens: 10, cachedInputTokens: 4, outputTokens: 5 };
const guess = (outputTokens: number) => ({ turns: 1, inputTokens: 100, cachedInputTokens: 0, outputTokens });

it('counts the real usage, however the turn ended', () => {
  for (const ending of Object.values(ENDINGS)) expect(spentBy(ending, USAGE, 'text')).toEqual(REAL);
});

it('counts nothing for a turn that failed before its answer began', () => {
  expect([spentBy(ENDINGS.failed, null), spentBy(ENDINGS.thrown, null)]).toEqual([NOTHING, NOTHING]);
});

it('estimates what is not reported', () => {
  expect({
    disconnected: spentBy(ENDINGS.abandoned, null, 'a text of 15 ch'),
    early: spentBy(ENDINGS.abandoned, null),
    cut: spentBy(ENDINGS.thrown, null, 'abc'),
    unreported: spentBy(ENDINGS.completed, null, 'abc'),
  }).toEqual({ disconnected: guess(5), early: guess(0), cut: guess(1), unreported: guess(1) });
});

it('counts nothing for a turn that was left before its model was asked', () => {
  expect(spentBy(ENDINGS.abandoned, null, '', 0)).toEqual(NOTHING);
  const meter = new RunMeter({ inputTokens: 100, asked: () => 2 });
  for (const text of ['', 'abc', '']) run(meter, ENDINGS.abandoned, null, text);
  expect(meter.spent).toEqual({ turns: 2, inputTokens: 200, cachedInputTokens: 0, outputTokens: 1 });
});

it('estimates hidden reasoning by the length of its encrypted form', () => {
  const meter = new RunMeter({ inputTokens: 100, asked: () => 1 });
  const turn = meter.watch();
  turn.onStart?.();
  const item = { kind: 'reasoning', id: 'r', summary: [], encryptedContent: 'x'.repeat(16_000) } as const;
  turn.onEvent?.({ type: 'item-started', item: { kind: 'reasoning', id: 'r', summary: [] } });
  turn.onEvent?.({ type: 'item-ended', item });
  turn.onEnd?.({ ending: ENDINGS.abandoned, usage: null, firstEventMs: 0, durationMs: 0 });
  expect(meter.spent).toEqual(guess(3_000));
});

it('counts the tokens of an image model', () => {
  const kind = (tokens: number) => ({ tokens, of: null });
  expect(spentBy(ENDINGS.completed, { ...USAGE, images: { input: kind(50), output: kind(1_000) } })).toEqual({
    ...REAL,
    inputTokens: 60,
    outputTokens: 1_005,
  });
});

it('adds up the turns, and waits for the last one', () => {
  const meter = new RunMeter({ inputTokens: 100, asked: () => 2 });
  const seen: unknown[] = [];
  const slow = meter.watch();
  slow.onStart?.();
  run(meter, ENDINGS.completed, USAGE, '');
  meter.whenIdle(() => seen.push(meter.spent));
  expect(seen).toEqual([]);
  slow.onEnd?.({ ending: ENDINGS.abandoned, usage: null, firstEventMs: null, durationMs: 0 });
  expect(seen).toEqual([{ turns: 2, inputTokens: 110, cachedInputTokens: 4, outputTokens: 5 }]);
});

const withParts = (parts: readonly Part[]): TurnRequest => ({
  ...PLAIN_REQUEST,
  model: 'm',
  items: [
    { kind: 'message', role: 'user', parts },
    { kind: 'tool-output', callId: 'c', tool: 'function', output: parts },
  ],
});

const data = 'A'.repeat(12_000);

it('estimates texts by their bytes, and what is attached by its kind', () => {
  const estimate = (part: Part, bytes: number): number => estimateInput([withParts([part])], bytes);
  expect({
    text: estimate({ kind: 'text', text: 'x' }, 301),
    image: estimate({ kind: 'image', url: data }, 24_300),
    audio: estimate({ kind: 'audio', format: 'wav', data }, 24_300),
    file: estimate({ kind: 'file', raw: { type: 'input_file', file_data: data } }, 24_300),
    pdf: estimate(
      { kind: 'file', raw: { type: 'input_file', file_data: `data:application/pdf;base64,${data}` } },
      24_356,
    ),
    byId: estimate({ kind: 'file', raw: { type: 'input_file', file_id: 'f' } }, 300),
    // Fetched meanwhile: the body was smaller.
    fetched: estimate({ kind: 'image', url: data }, 300),
  }).toEqual({
    text: 101,
    image: 100 + 2_200,
    audio: 100 + 12,
    file: 100 + 6_000,
    pdf: 100 + 2_200,
    byId: 100 + 2_200,
    fetched: 2_200,
  });
});
