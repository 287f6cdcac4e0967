import { describe, expect, it, vi } from 'vitest';

import { MemoryAccess } from './memory-access.ts';

const opened = () => {
  let now = 1_000_000;
  const errors: string[] = [];
  const access = new MemoryAccess({
    clock: { now: () => now },
    onTrouble: (error) => errors.push((error as Error).message),
  });
  return { access, errors, pass: (ms: number) => (now += ms) };
};

const fails = (message: string) => async (): Promise<string> => {
  throw new Error(message);
};
const answers = async (): Promise<string> => 'found';
const never = (): Promise<string> => new Promise(() => {});

describe('a read that a turn can do without', () => {
  it('gives the value, or null if the store fails', async () => {
    const { access, errors } = opened();
    expect(await access.read(answers)).toBe('found');
    expect(await access.read(fails('gone'))).toBeNull();
    expect(errors).toEqual(['gone']);
  });

  it('gives up on a store that does not answer', async () => {
    vi.useFakeTimers();
    try {
      const { access, errors } = opened();
      const read = access.read(never);
      await vi.advanceTimersByTimeAsync(250);
      expect(await read).toBeNull();
      expect(errors).toEqual(['The store did not answer within 250 ms.']);
    } finally {
      vi.useRealTimers();
    }
  });

  it('is left out for a while after a failure', async () => {
    const { access, pass } = opened();
    await access.read(fails('gone'));
    expect(await access.read(answers)).toBeNull();
    pass(4_999);
    expect(await access.read(answers)).toBeNull();
    pass(1);
    expect([await access.read(answers), await access.read(answers)]).toEqual(['found', 'found']);
  });

  it('is not left out for long because the clock was set back', async () => {
    const { access, pass } = opened();
    await access.read(fails('gone'));
    pass(-500_000);
    expect(await access.read(answers)).toBe('found');
  });
});

describe('trouble with the store', () => {
  it('is reported once, for reads and for writes, until it is over', async () => {
    const { access, errors, pass } = opened();
    const failedRead = async (message: string): Promise<void> => {
      pass(5_000);
      expect(await access.read(fails(message))).toBeNull();
    };
    await failedRead('read 1');
    await failedRead('read 2');
    expect(await access.write(fails('write 1'))).toBeNull();
    expect(await access.write(fails('write 2'))).toBeNull();
    pass(5_000);
    expect([await access.read(answers), await access.write(answers)]).toEqual(['found', 'found']);
    await failedRead('read 3');
    expect(errors).toEqual(['read 1', 'write 1', 'read 3']);
  });
});
