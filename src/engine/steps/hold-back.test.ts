import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { accepted, ended } from '../../../test/support/spent-turns.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { holdBack, release, usageOf, type HoldRules, type HoldVerdict } from './hold-back.ts';
import { Settling } from './step.ts';

const said = (delta: string): TurnEvent => ({ type: 'item-delta', itemId: 'm', at: 'text', delta });
const END = ended({ kind: 'completed' }, 1);
const TURN = [accepted, said('a'), said('b'), END];

interface Result {
  readonly sent: readonly TurnEvent[];
  readonly held: readonly TurnEvent[] | null;
  /** Whether the source was left, also where it had not ended. */
  readonly isLeft: boolean;
}

const run = async (
  source: AsyncIterable<TurnEvent> | readonly TurnEvent[],
  rules: Partial<HoldRules> & Pick<HoldRules, 'judge'>,
): Promise<Result> => {
  let isLeft = false;
  const watched = async function* (): AsyncGenerator<TurnEvent> {
    try {
      yield* source;
    } finally {
      isLeft = true;
    }
  };
  const sent: TurnEvent[] = [];
  const iterator = holdBack(watched(), { whenFull: 'discard', ...rules });
  for (;;) {
    const step = await iterator.next();
    if (step.done === true) return { sent, held: step.value, isLeft };
    sent.push(step.value);
  }
};

/** Judges by the text of a delta; other events are held. */
const byText =
  (verdicts: Readonly<Record<string, HoldVerdict>>) =>
  (event: TurnEvent): HoldVerdict =>
    event.type === 'item-delta' ? (verdicts[event.delta] ?? 'hold') : 'hold';

describe('holdBack', () => {
  it('returns what is held when the turn ends', async () => {
    expect(await run(TURN, { judge: () => 'hold' })).toEqual({ sent: [], held: TURN, isLeft: true });
    expect(await run([], { judge: () => 'hold' })).toEqual({ sent: [], held: [], isLeft: true });
  });

  it('sends and drops single events while others wait', async () => {
    const judge = byText({ a: 'send', b: 'drop' });
    expect(await run(TURN, { judge })).toEqual({ sent: [said('a')], held: [accepted, END], isLeft: true });
  });

  it('releases what is held and goes on judging', async () => {
    const judge = byText({ b: 'release' });
    expect(await run(TURN, { judge })).toEqual({
      sent: [accepted, said('a'), said('b')],
      held: [END],
      isLeft: true,
    });
  });

  it('settles the turn once it is decided, and adds what discarded answers have cost', async () => {
    const settled: number[] = [];
    const settling = new Settling(() => void settled.push(1));
    settling.settle();
    let isOver = false;
    const judge = (event: TurnEvent): HoldVerdict => {
      if (isOver) return 'send';
      isOver = event.type === 'item-delta';
      return isOver ? 'decide' : 'hold';
    };
    const { usage: spent } = END;
    expect(await run(TURN, { judge, settling, spent })).toEqual({
      sent: [accepted, said('a'), said('b'), ended({ kind: 'completed' }, 2)],
      held: null,
      isLeft: true,
    });
    expect(settled).toEqual([1]);
  });

  it('leaves a turn that is discarded', async () => {
    const judge = byText({ a: 'discard' });
    expect(await run(TURN, { judge })).toEqual({ sent: [], held: [accepted, said('a')], isLeft: true });
  });

  it('holds no more than its limit', async () => {
    const long = [accepted, said('x'.repeat(2_000)), END];
    const judge = (): HoldVerdict => 'hold';
    expect(await run(long, { judge, maxBytes: 1_000 })).toMatchObject({ sent: [], isLeft: true });
    expect(await run(long, { judge, maxBytes: 1_000, whenFull: 'decide' })).toEqual({
      sent: long,
      held: null,
      isLeft: true,
    });
  });

  it('sends everything when the time is up, also what comes then', async () => {
    const slow = async function* (): AsyncGenerator<TurnEvent> {
      yield accepted;
      await sleep(50);
      yield* TURN.slice(1);
    };
    expect(await run(slow(), { judge: () => 'hold', withinMs: 1 })).toEqual({
      sent: TURN,
      held: null,
      isLeft: true,
    });
  });

  it('throws what the source throws, and what judges throw', async () => {
    const broken = async function* (): AsyncGenerator<TurnEvent> {
      yield accepted;
      throw new Error('lost');
    };
    await expect(run(broken(), { judge: () => 'hold', withinMs: 1_000 })).rejects.toThrow('lost');
    const judge = (): never => {
      throw new Error('not so');
    };
    await expect(run(TURN, { judge })).rejects.toThrow('not so');
  });

  it('stops releasing when the signal is aborted', async () => {
    const left = AbortSignal.abort(new Error('gone'));
    await expect(release(TURN, left).next()).rejects.toThrow('gone');
  });
});

describe('usageOf', () => {
  it('is the usage of an ended turn', () => {
    expect([usageOf(TURN), usageOf([accepted]), usageOf([])]).toEqual([END.usage, null, null]);
  });
});
