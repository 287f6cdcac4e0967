import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { AgentSessionRow, AgentSessionStore } from '../store/port.ts';
import type { SessionEvent } from './objects.ts';
import { StepWriter } from './step-writer.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A writer, and what it has written so far: the pieces of text in each write. */
const openWriter = (store: { readonly takesMs: number }) => {
  const written: string[] = [];
  const append: AgentSessionStore['append'] = async (_, __, ___, { events }) => {
    await new Promise((resolve) => void setTimeout(resolve, store.takesMs));
    written.push(events.map((event) => (JSON.parse(event) as { delta: string }).delta).join(' '));
    return true;
  };
  const writer = new StepWriter({
    store: { append } as AgentSessionStore,
    row: { owner: 'key', id: 'asess_1' } as AgentSessionRow,
    instance: 'inst_1',
    first: 1,
    eventsExpireAt: () => 0,
    nextItem: () => 0,
    onLost(error) {
      throw error;
    },
    signal: new AbortController().signal,
  });
  return { writer, written };
};

const piece = (delta: string): SessionEvent => ({
  type: 'agent.output.command_execution_output.delta',
  session_id: 'asess_1',
  turn_id: 'turn_1',
  item_id: 'call_1',
  output_index: 0,
  delta,
});

describe('StepWriter', () => {
  it('writes at once what comes after a pause, and collects what follows', async () => {
    const { writer, written } = openWriter({ takesMs: 1 });
    writer.event(piece('a'));
    await vi.advanceTimersByTimeAsync(5);
    expect(written).toEqual(['a']);
    writer.event(piece('b'));
    await vi.advanceTimersByTimeAsync(5);
    writer.event(piece('c'));
    expect(written).toEqual(['a']);
    await vi.advanceTimersByTimeAsync(15);
    expect(written).toEqual(['a', 'bc']);
    await vi.advanceTimersByTimeAsync(1_000);
    writer.event(piece('d'));
    await vi.advanceTimersByTimeAsync(5);
    expect(written).toEqual(['a', 'bc', 'd']);
  });

  it('writes less often to a slow store', async () => {
    const { writer, written } = openWriter({ takesMs: 100 });
    writer.event(piece('a'));
    await vi.advanceTimersByTimeAsync(110);
    writer.event(piece('b'));
    // At most half of the time is spent with writing.
    await vi.advanceTimersByTimeAsync(60);
    writer.event(piece('c'));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(written).toEqual(['a', 'bc']);
  });
});
