import { describe, expect, it } from 'vitest';

import { createVolatileMemory, Sessions, type SessionMemory } from './sessions.ts';
import { SignInLimit } from '../../http/guards/sign-in-limit.ts';

const MINUTE = 60_000;
const START = 1_000_000;

const open = () => {
  let now = START;
  const clock = { now: () => now };
  const memory = createVolatileMemory(clock);
  const written: string[] = [];
  const watched: SessionMemory = {
    ...memory,
    async put(kind, key, value, expiresAt) {
      written.push(kind, key, value);
      await memory.put(kind, key, value, expiresAt);
    },
  };
  const pass = (minutes: number): void => {
    now += minutes * MINUTE;
  };
  return { sessions: new Sessions({ memory: watched, clock }), memory, clock, written, pass };
};

describe('a session', () => {
  it('gives the key back to the holder of the token, until it is closed', async () => {
    const { sessions } = open();
    const { token, expiresAt } = await sessions.open('sk-1');
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(await sessions.find(token)).toEqual({ key: 'sk-1', expiresAt: START + 720 * MINUTE });
    expect(expiresAt).toBe(START + 720 * MINUTE);
    await sessions.close(token);
    expect(await sessions.find(token)).toBeNull();
  });

  it('is kept without its token and its key', async () => {
    const { sessions, written } = open();
    const { token } = await sessions.open('sk-very-secret');
    expect(written.length).toBeGreaterThan(3);
    expect(written.join(' ')).not.toMatch(new RegExp(`sk-very-secret|${token}`));
  });

  it('ends after two hours without a request', async () => {
    const { sessions, pass } = open();
    const { token } = await sessions.open('sk-1');
    pass(119);
    expect(await sessions.find(token)).not.toBeNull();
    pass(119);
    expect(await sessions.find(token)).not.toBeNull();
    pass(121);
    expect(await sessions.find(token)).toBeNull();
  });

  it('ends after twelve hours', async () => {
    const { sessions, pass } = open();
    const { token } = await sessions.open('sk-1');
    for (let hour = 1; hour < 12; hour += 1) {
      pass(60);
      expect(await sessions.find(token)).not.toBeNull();
    }
    pass(61);
    expect(await sessions.find(token)).toBeNull();
  });

  it('is not revived by a request that was under way when it was closed', async () => {
    const { sessions, memory, clock, pass } = open();
    const { token } = await sessions.open('sk-1');
    pass(10);
    const slow = new Sessions({
      clock,
      memory: {
        ...memory,
        async put(...row) {
          await sessions.close(token);
          await memory.put(...row);
        },
      },
    });
    expect(await slow.find(token)).not.toBeNull();
    expect(await sessions.find(token)).toBeNull();
  });

  it('is one of at most a thousand without a store', async () => {
    const { sessions } = open();
    const first = await sessions.open('sk-1');
    let last = first;
    for (let count = 0; count < 1_000; count += 1) last = await sessions.open('sk-2');
    expect([await sessions.find(first.token), (await sessions.find(last.token))?.key]).toEqual([
      null,
      'sk-2',
    ]);
  });
});

describe('SignInLimit', () => {
  const tries = (limit: SignInLimit, address: string, isRight: boolean): number => {
    for (let count = 0; count < 1_000; count += 1) {
      try {
        const attempt = limit.enter(address);
        if (isRight) attempt.succeeded();
      } catch {
        return count;
      }
    }
    return 1_000;
  };

  it('allows ten wrong keys a minute for each address', () => {
    const { clock, pass } = open();
    const limit = new SignInLimit(clock);
    expect([tries(limit, 'a', false), tries(limit, 'a', false), tries(limit, 'b', false)]).toEqual([
      10, 0, 10,
    ]);
    pass(0.5);
    expect(() => limit.enter('a')).toThrow(
      expect.objectContaining({
        failure: expect.objectContaining({ code: 'sign_in_limit_exceeded', retryAfterSeconds: 30 }),
      }),
    );
    pass(0.5);
    expect(tries(limit, 'a', false)).toBe(10);
  });

  it('allows more right keys, but not any number', () => {
    expect(tries(new SignInLimit({ now: () => START }), 'a', true)).toBe(55);
  });
});
