import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { failure, failureOf } from '../canonical/failure.ts';
import { createBodyBudget } from './body-budget.ts';

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

const never = new AbortController().signal;
const tooMuch = failure('server_overloaded', {
  message: 'The requests that are in work are too large together. Please try again later.',
  retryAfterSeconds: 1,
});

const budgetOf = (maxBytes: number) => {
  const told = { bytes: 0, refused: 0 };
  const budget = createBodyBudget({
    maxBytes,
    waitMs: 30_000,
    clock: { now: () => Date.now() },
    onChange: (bytes) => (told.bytes = bytes),
    onRefused: () => (told.refused += 1),
  });
  return { budget, told };
};

describe('createBodyBudget', () => {
  it('holds what a body needs until it is let go, once', async () => {
    const { budget, told } = budgetOf(100);
    const held = budget.open('a', never);
    await held.reserve(60);
    held.grow(30);
    expect(told).toEqual({ bytes: 90, refused: 0 });
    held.letGo();
    held.letGo();
    held.grow(5);
    expect(told).toEqual({ bytes: 0, refused: 0 });
  });

  it('lets a body wait for others to go', async () => {
    const { budget, told } = budgetOf(100);
    const first = budget.open('a', never);
    await first.reserve(60);
    const second = budget.open('a', never).reserve(60);
    await vi.advanceTimersByTimeAsync(20_000);
    first.letGo();
    await second;
    expect(told).toEqual({ bytes: 60, refused: 0 });
  });

  it('refuses what has waited too long, and what comes unannounced when all is taken', async () => {
    const { budget, told } = budgetOf(100);
    const first = budget.open('a', never);
    await first.reserve(60);
    const failed = budget.open('a', never).reserve(60).catch(failureOf);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await failed).toEqual(tooMuch);
    expect(() => first.grow(41)).toThrow(tooMuch.message);
    expect(told).toEqual({ bytes: 60, refused: 2 });
  });

  it('holds nothing for a request that ended while it waited', async () => {
    const { budget, told } = budgetOf(100);
    const client = new AbortController();
    const first = budget.open('a', never);
    await first.reserve(100);
    const second = budget.open('b', client.signal);
    const waiting = second.reserve(50).catch(() => 'gone');
    const third = budget.open('c', never);
    const overtaken = third.reserve(50);
    // Let in, and over before it hears of it.
    first.letGo();
    third.letGo();
    client.abort();
    second.letGo();
    await overtaken;
    expect([await waiting, told]).toEqual([undefined, { bytes: 0, refused: 0 }]);
  });

  it('takes a body that is larger than all there is when it is alone', async () => {
    const { budget, told } = budgetOf(100);
    await budget.open('a', never).reserve(500);
    expect(told).toEqual({ bytes: 100, refused: 0 });
  });
});
