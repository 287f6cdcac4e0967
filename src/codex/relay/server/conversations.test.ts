import { appendFile, chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { openConversations, type Conversations } from './conversations.ts';
import { UUID_V7 } from '../request/uuid-v7.ts';

let directory: string;
let file: string;
let errors: unknown[];
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'conversations-'));
  file = path.join(directory, 'state', 'conversations');
  errors = [];
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const keyOf = (index: number): string => index.toString(16).padStart(32, '0');

const start = (max?: number): Promise<Conversations> =>
  openConversations({
    file,
    clock: { now: () => Date.UTC(2026, 10) },
    ...(max === undefined ? {} : { max }),
    onError: (error) => void errors.push(error),
  });

/** What another start knows of the first `count` conversations. */
const idsAfterRestart = async (count: number, max?: number): Promise<string[]> => {
  const again = await start(max);
  const ids = idsOf(again, count);
  await again.close();
  return ids;
};

const idsOf = (conversations: Conversations, count: number): string[] =>
  Array.from({ length: count }, (_, index) => conversations.idOf(keyOf(index)));

const linesOf = async (): Promise<string[]> => (await readFile(file, 'utf8')).split('\n').filter(Boolean);

describe('a conversation', () => {
  it('keeps its id, even after a restart, in a file for this user only', async () => {
    const conversations = await start();
    const ids = idsOf(conversations, 3);
    expect(new Set(ids).size).toBe(3);
    expect(ids[0]).toMatch(UUID_V7);
    expect(idsOf(conversations, 3)).toEqual(ids);
    await conversations.close();
    expect(await linesOf()).toEqual(ids.map((id, index) => `${keyOf(index)} ${id}`));
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await idsAfterRestart(3)).toEqual(ids);
    expect(errors).toEqual([]);
  });

  it('is forgotten after more than the limit were used since', async () => {
    const conversations = await start(3);
    const [first, second] = idsOf(conversations, 3);
    expect(conversations.idOf(keyOf(0))).toBe(first);
    conversations.idOf(keyOf(3));
    expect(conversations.idOf(keyOf(0))).toBe(first);
    expect(conversations.idOf(keyOf(1))).not.toBe(second);
    await conversations.close();
  });
});

describe('the file', () => {
  it('is bounded, and keeps an active conversation', async () => {
    const conversations = await start(10);
    const first = conversations.idOf(keyOf(0));
    for (let index = 1; index <= 500; index += 1) {
      conversations.idOf(keyOf(index));
      expect(conversations.idOf(keyOf(0))).toBe(first);
      // Like requests: one batch after the other.
      if (index % 5 === 0) await conversations.close();
    }
    await conversations.close();
    expect((await linesOf()).length).toBeLessThanOrEqual(20);
    expect(await idsAfterRestart(1, 10)).toEqual([first]);
  });

  it('survives an incomplete last line and any other content', async () => {
    const conversations = await start();
    const ids = idsOf(conversations, 2);
    await conversations.close();
    await appendFile(file, `nonsense\n\u0000\n${keyOf(7)} not-a-uuid\n${keyOf(8)} 0199`);
    const again = await start();
    expect(idsOf(again, 2)).toEqual(ids);
    const third = again.idOf(keyOf(2));
    await again.close();
    expect(await idsAfterRestart(3)).toEqual([...ids, third]);
    expect(errors).toEqual([]);
  });

  it('may be shared: of two ids for one conversation the newer one wins', async () => {
    const [one, two] = [await start(), await start()];
    const ids = idsOf(one, 2);
    await one.close();
    const other = two.idOf(keyOf(0));
    await two.close();
    expect(await idsAfterRestart(2)).toEqual([other, ids[1]]);
  });

  it('is read up to its limit, however large it is', async () => {
    const conversations = await start();
    const last = conversations.idOf(keyOf(1));
    await conversations.close();
    const line = await readFile(file, 'utf8');
    await writeFile(file, `${'x'.repeat(5_000_000)}\n${line}`);
    const again = await start(100);
    expect(again.idOf(keyOf(1))).toBe(last);
    again.idOf(keyOf(2));
    await again.close();
    expect((await linesOf()).length).toBe(2);
  });
});

describe('without a disk', () => {
  it('keeps ids while the process lives, and reports the error once', async () => {
    await writeFile(path.join(directory, 'state'), 'a file where a directory should be');
    const conversations = await start();
    const ids = idsOf(conversations, 3);
    await conversations.close();
    idsOf(conversations, 5);
    await conversations.close();
    expect(idsOf(conversations, 3)).toEqual(ids);
    expect(errors).toHaveLength(1);
  });

  it('writes failed entries with the next ones', async () => {
    const conversations = await start();
    const first = conversations.idOf(keyOf(0));
    await conversations.close();
    // Nothing can be appended to a directory.
    await rm(file);
    await rm(path.dirname(file), { recursive: true });
    const second = conversations.idOf(keyOf(1));
    await conversations.close();
    expect(errors).toHaveLength(1);
    await start();
    const third = conversations.idOf(keyOf(2));
    await conversations.close();
    expect(await linesOf()).toEqual([`${keyOf(1)} ${second}`, `${keyOf(2)} ${third}`]);
    expect(conversations.idOf(keyOf(0))).toBe(first);
  });

  it('restricts a file of others, and loses only the ids of an unreadable one', async () => {
    const conversations = await start();
    const ids = idsOf(conversations, 1);
    await conversations.close();
    await chmod(file, 0o644);
    expect(await idsAfterRestart(1)).toEqual(ids);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await rm(file);
    file = path.dirname(file);
    const unreadable = await start();
    expect(unreadable.idOf(keyOf(0))).toMatch(UUID_V7);
    await unreadable.close();
    expect(errors).toHaveLength(1);
  });
});
