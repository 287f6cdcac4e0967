import { describe, expect, it } from 'vitest';

import { carrying, fakeMcp, sourceOptions } from '../../../../test/support/carried.ts';
import {
  BEGUN,
  call,
  completed,
  done,
  message,
  turnCompleted,
} from '../../../../test/support/upstream-events.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import type { SourceSignal } from '../../../codex/sources/source.ts';
import type { McpTurn } from '../../mcp/mcp-turn.ts';

/** A started turn, and what its source makes of the signals. */
const reading = async (request: Partial<TurnRequest> = {}, mcp: McpTurn | null = null) => {
  const { turn, start } = carrying().turnOf(request);
  await start(mcp);
  const source = turn.sourceOf(sourceOptions());
  const take = (...signals: readonly SourceSignal[]) => signals.flatMap((signal) => source.take(signal));
  return { turn, source, take };
};
const END = { type: 'turn-ended', outcome: { kind: 'completed' } };
const answered = [BEGUN, done(message('Hi')), completed()];

describe('an answer', () => {
  it('ends its turn, without waiting for codex', async () => {
    const { source, take } = await reading();
    expect(take(...answered).at(-1)).toMatchObject(END);
    expect([source.ended, source.isLastAnswer]).toEqual([true, false]);
    // What codex reports about it comes too late.
    expect(take(turnCompleted())).toEqual([]);
  });

  it('ends its turn with calls for the client', async () => {
    const { take } = await reading();
    const events = take(BEGUN, done(call('f', '{}')), completed());
    expect(events.at(-1)).toMatchObject({ type: 'turn-ended', outcome: { kind: 'tool-calls' } });
  });

  it('ends its turn if it says so', async () => {
    const { take } = await reading();
    expect(take(BEGUN, done(message('Hi')), completed({ end_turn: true })).at(-1)).toMatchObject(END);
  });

  it('does not end its turn after a call that was not declared, which codex answers', async () => {
    const { source, take } = await reading();
    take(BEGUN, done(call('never_declared', '{}')), completed());
    expect(source.ended).toBe(false);
    expect(take(...answered).at(-1)).toMatchObject(END);
  });

  it('does not end its turn if the model wants to continue', async () => {
    const { source, take } = await reading();
    take(BEGUN, done(message('First')), completed({ end_turn: false }));
    expect(source.ended).toBe(false);
    expect(take(...answered).at(-1)).toMatchObject(END);
  });

  it('does not end a turn with MCP servers, or a review', async () => {
    const turns = [await reading({}, fakeMcp()), await reading({ isReview: true })];
    for (const { source, take } of turns) {
      take(...answered);
      expect(source.ended).toBe(false);
      expect(take(turnCompleted()).at(-1)).toMatchObject(END);
    }
  });
});
