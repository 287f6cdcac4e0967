import { lstat, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { tokensIn } from '../../src/codex/home/login-file.ts';
import { parseJsonObject } from '../../src/kit/json/json.ts';
import { freshProxies } from './hooks.ts';
import { codeOf, outputText, type Answered, type ChatGptProxy } from './proxy.ts';

/** Several app-servers have the same login, and its refresh token works once. */
const fresh = freshProxies();

const HELLO = 'Hello from the scripted model.';
/** Tokens renewed this recently are not renewed again. */
const SHARED_MS = 10_500;

afterEach(() => vi.restoreAllMocks());

/** The clock of this process goes on from there. */
const advanceClock = (ms: number): void => {
  const realNow = Date.now.bind(Date);
  vi.spyOn(Date, 'now').mockImplementation(() => realNow() + ms);
};

const ask = (at: ChatGptProxy, model: string): Promise<Answered> =>
  at.post('/v1/responses', { model, input: 'Hello?' });

/** Reads a file repeatedly; resolves to contents that are not a login. */
const watchFile = (file: string): (() => Promise<readonly string[]>) => {
  const broken: string[] = [];
  const over = new AbortController();
  const reading = (async () => {
    while (!over.signal.aborted) {
      const text = await readFile(file, 'utf8').catch(String);
      if (parseJsonObject(text) === null) broken.push(text);
    }
  })();
  return async () => {
    over.abort();
    await reading;
    return broken;
  };
};

const refreshTokenIn = async (file: string): Promise<string | null> =>
  tokensIn(await readFile(file, 'utf8'))?.refreshToken ?? null;

describe('a token that four app-servers find expired', () => {
  it.each([
    ['with the relay', 'gpt-5.5', {}, 2],
    ['without it', 'gpt-6.1-sol', { PROXY_WIRE: 'off' }, 1],
  ])('is renewed once for 40 requests, and none fails, %s', async (_, model, env, rounds) => {
    const at = await fresh({ env: { PROXY_WORKERS: '4', ...env } });
    const file = path.join(at.home, 'auth.json');
    expect(outputText(await ask(at, model))).toBe(HELLO);
    await expect.poll(() => at.app.workers().length, { timeout: 20_000 }).toBe(4);
    const workers = at.app.workers().map(({ pid }) => pid);
    for (let round = 1; round <= rounds; round += 1) {
      if (round > 1) advanceClock(SHARED_MS);
      at.backend.spoilTokens('expired');
      const before = await refreshTokenIn(file);
      const brokenReads = watchFile(file);
      const answers = await Promise.all(Array.from({ length: 40 }, () => ask(at, model)));
      expect(answers.map(codeOf)).toEqual(answers.map(() => '200 no code'));
      expect(await brokenReads()).toEqual([]);
      // The fake rejects a refresh token that is used again.
      expect(at.backend.refreshes).toBe(round);
      expect(await refreshTokenIn(file)).not.toBe(before);
    }
    // They have the new tokens, so no worker has to be replaced.
    expect(at.app.workers().map(({ pid }) => pid)).toEqual(workers);
    expect([(await readdir(at.home)).toSorted(), (await lstat(file)).mode & 0o777]).toEqual([
      ['auth.json'],
      0o600,
    ]);
  });
});
