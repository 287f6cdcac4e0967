import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { AccountModel } from './account-list.ts';
import { createAccountModels, type AccountModels, type AccountModelsOptions } from './account-models.ts';
import type { AccountAnswer } from './ask-account.ts';
import type { SavedList } from './saved-lists.ts';

const BUNDLED = [{ slug: 'old', visibility: 'list', priority: 1 }];
const listed = (...slugs: readonly string[]): AccountAnswer => ({
  kind: 'listed',
  models: slugs.map((slug, priority): AccountModel => ({ slug, priority })),
});
const HOUR = 60 * 60_000;

let opened: AccountModels | null = null;
beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
});
afterEach(async () => {
  await opened?.close();
  vi.useRealTimers();
});

const open = async (options: Partial<AccountModelsOptions> & { earlier?: SavedList } = {}) => {
  const seen = { asks: 0, failed: [] as string[], kept: options.earlier ?? (null as SavedList | null) };
  const ask = options.ask ?? (async () => listed('new'));
  const models = await createAccountModels({
    bundled: BUNDLED,
    mayAskAgain: async () => true,
    kept: {
      read: async () => seen.kept,
      write: async (list) => {
        seen.kept = list;
      },
    },
    clock: { now: () => Date.now() },
    onFailed: (reason) => seen.failed.push(reason),
    ...options,
    ask: (signal) => {
      seen.asks += 1;
      return ask(signal);
    },
  });
  opened = models;
  return { models, seen };
};

const ids = (models: AccountModels): readonly string[] => models.current().list.models.map(({ id }) => id);

describe('createAccountModels', () => {
  it('waits for the first answer, and saves it', async () => {
    const { models, seen } = await open();
    const catalogue = await models.catalogue();
    expect([catalogue === models.current(), ids(models), models.origin, seen]).toEqual([
      true,
      ['new'],
      { source: 'backend', asOfMs: 1_000_000 },
      { asks: 1, failed: [], kept: { asOfMs: 1_000_000, models: [{ slug: 'new', priority: 0 }] } },
    ]);
    expect(await models.models()).toBe(catalogue.list);
  });

  it('waits a limited time: a late answer is used later, and reported', async () => {
    const late = Promise.withResolvers<AccountAnswer>();
    const { models } = await open({ ask: () => late.promise });
    const changes: string[] = [];
    models.onChange((catalogue) => changes.push(catalogue.list.standard ?? ''));
    const waiting = models.catalogue();
    await vi.advanceTimersByTimeAsync(3_000);
    expect((await waiting).list.standard).toBe('old');
    late.resolve(listed('new'));
    await vi.advanceTimersByTimeAsync(0);
    expect([changes, (await models.catalogue()).list.standard]).toEqual([['new'], 'new']);
  });

  it('uses the list of the last start, with its age, without an answer', async () => {
    const earlier = { asOfMs: 5, models: [{ slug: 'kept', priority: 0 }] };
    const { models, seen } = await open({
      earlier,
      ask: async () => ({ kind: 'failed', reason: 'no network' }),
    });
    await models.catalogue();
    expect([ids(models), models.origin, seen.failed]).toEqual([
      ['kept'],
      { source: 'kept', asOfMs: 5 },
      ['no network'],
    ]);
  });

  it('uses the bundled list without either', async () => {
    const { models, seen } = await open({
      ask: async () => {
        throw new Error('no process');
      },
    });
    await models.catalogue();
    expect([ids(models), models.origin, seen.failed]).toEqual([
      ['old'],
      { source: 'bundled', asOfMs: null },
      ['no process'],
    ]);
  });

  it('asks every hour, and reports only changes', async () => {
    const answers = [listed('a'), listed('a'), listed('a', 'b')];
    const { models, seen } = await open({ ask: async () => answers.shift() ?? listed('a', 'b') });
    const changes: (readonly string[])[] = [];
    models.onChange(() => changes.push(ids(models)));
    const first = await models.models();
    await vi.advanceTimersByTimeAsync(HOUR);
    const second = await models.models();
    await vi.advanceTimersByTimeAsync(HOUR);
    // The first one was there before a listener could be added.
    expect([seen.asks, first === second, changes.at(-1), ids(models)]).toEqual([
      3,
      true,
      ['a', 'b'],
      ['a', 'b'],
    ]);
  });

  it('asks on request, but not all the time', async () => {
    const { models, seen } = await open();
    await models.catalogue();
    for (let times = 0; times < 10; times += 1) models.refresh();
    expect(seen.asks).toBe(1);
    await vi.advanceTimersByTimeAsync(60_000);
    for (let times = 0; times < 10; times += 1) models.refresh();
    await vi.advanceTimersByTimeAsync(0);
    expect(seen.asks).toBe(2);
  });

  it('does not ask again while a worker may refresh the token', async () => {
    const { models, seen } = await open({ mayAskAgain: async () => false });
    await models.catalogue();
    await vi.advanceTimersByTimeAsync(3 * HOUR);
    expect(seen.asks).toBe(1);
  });

  it('reports nothing if closed while asking', async () => {
    const { models, seen } = await open({
      ask: (signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('aborted')));
        }),
    });
    await models.close();
    models.refresh();
    expect(seen).toEqual({ asks: 1, failed: [], kept: null });
  });
});
