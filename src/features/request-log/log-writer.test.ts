import { describe, expect, it } from 'vitest';

import { gatewayError } from '../../canonical/failure/failure.ts';
import type { RequestRow, RequestStore } from './store.ts';
import { LogWriter } from './log-writer.ts';

const row = (id: string) => ({ id }) as RequestRow;

const open = () => {
  const written: string[] = [];
  const trims: (readonly number[])[] = [];
  const lost: (readonly [string, number])[] = [];
  const errors: unknown[] = [];
  let failing: unknown = null;
  let trimmed: readonly number[] = [];
  let hanging: Promise<void> | null = null;
  const store: RequestStore = {
    async add(rows) {
      if (failing !== null) throw failing;
      written.push(rows.map(({ id }) => id).join(' '));
    },
    async trim(keep, limit) {
      trims.push([keep, limit]);
      await hanging;
      const [first = 0, ...rest] = trimmed;
      trimmed = rest;
      return first;
    },
    find: () => Promise.reject(new Error('not read here')),
    list: () => Promise.reject(new Error('not read here')),
  };
  const writer = new LogWriter({
    store,
    maxRows: 9,
    flushMs: 1,
    onLost: (reason, rows) => lost.push([reason, rows]),
    onError: (error) => errors.push(error),
  });
  return {
    writer,
    written,
    trims,
    lost,
    errors,
    fail: (error: unknown) => (failing = error),
    hang() {
      const until = Promise.withResolvers<void>();
      hanging = until.promise;
      return until;
    },
    trimming: (counts: readonly number[]) => (trimmed = counts),
  };
};

describe('LogWriter', () => {
  it('writes what waits together, by itself', async () => {
    const { writer, written, trims } = open();
    writer.add(row('a'));
    writer.add(row('b'));
    await expect.poll(() => written).toEqual(['a b']);
    await expect.poll(() => trims).toEqual([[9, 100]]);
  });

  it('deletes the oldest rows in steps, and not after every write', async () => {
    const { writer, trims, trimming } = open();
    trimming([100, 3]);
    writer.add(row('a'));
    await writer.flush();
    writer.add(row('b'));
    await writer.flush();
    const steps = [
      [9, 100],
      [9, 100],
    ];
    await expect.poll(() => trims).toEqual(steps);
  });

  it('does not let readers wait until old rows are deleted', async () => {
    const { writer, written, trims, hang } = open();
    const hanging = hang();
    writer.add(row('a'));
    await writer.flush();
    writer.add(row('b'));
    await writer.flush();
    expect({ written, trims }).toEqual({ written: ['a', 'b'], trims: [[9, 100]] });
    hanging.resolve();
    await writer.close();
  });

  it('keeps rows while the store is away, and reports it once', async () => {
    const { writer, written, lost, errors, fail } = open();
    const away = gatewayError('store_unavailable');
    fail(away);
    writer.add(row('a'));
    await writer.flush();
    writer.add(row('b'));
    await writer.flush();
    fail(null);
    await writer.flush();
    await writer.flush();
    expect({ written, lost, errors }).toEqual({ written: ['a b'], lost: [], errors: [away] });
  });

  it('drops rows that the store rejects', async () => {
    const { writer, written, lost, fail } = open();
    fail(new Error('broken'));
    writer.add(row('a'));
    await writer.flush();
    fail(null);
    writer.add(row('b'));
    await writer.close();
    expect({ written, lost }).toEqual({ written: ['b'], lost: [['store', 1]] });
  });

  it('reports what it could not write until it was closed', async () => {
    const { writer, written, lost, fail } = open();
    fail(gatewayError('store_unavailable'));
    writer.add(row('a'));
    writer.add(row('b'));
    await writer.close();
    expect({ written, lost }).toEqual({ written: [], lost: [['stop', 2]] });
  });

  it('has a limited queue', async () => {
    const { writer, lost, fail } = open();
    fail(gatewayError('store_unavailable'));
    for (let nth = 0; nth < 5_002; nth += 1) writer.add(row(String(nth)));
    expect(lost).toEqual([
      ['full', 1],
      ['full', 1],
    ]);
    fail(null);
    await writer.close();
  });
});
