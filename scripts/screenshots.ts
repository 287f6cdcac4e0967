/**
 * `npm run screenshots`: starts the product with the demo model, sends it some requests, and takes the pictures of the
 * console in `docs/images` from a real browser.
 */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import type { Browser, Page } from 'playwright-core';

import { openBrowser } from '../test/browser/open-browser.ts';
import { buildConsole } from './build-console.ts';

const ROOT = path.join(import.meta.dirname, '..');
const IMAGES = path.join(ROOT, 'docs/images');
const LIMIT_MS = 120_000;
const PAGE_LIMIT_MS = 20_000;

interface Server {
  readonly url: string;
  readonly key: string;
  stop(): Promise<void>;
}

const startServer = async (): Promise<Server> => {
  const home = await mkdtemp(path.join(tmpdir(), 'screenshots-'));
  const state = path.join(home, 'state');
  const child = spawn(process.execPath, [path.join(ROOT, 'bin/codex-app-server-proxy.js')], {
    env: {
      PATH: process.env['PATH'],
      HOME: home,
      PORT: '0',
      PROXY_STATE_DIR: state,
      PROXY_DEMO: 'true',
      PROXY_CAPTURE_DIR: path.join(home, 'captures'),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const closed = new Promise<void>((resolve) => void child.once('close', () => resolve()));
  let shown = '';
  const url = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`The server did not start:\n${shown}`)), LIMIT_MS);
    child.stderr.on('data', (chunk: Buffer) => {
      shown += chunk.toString();
      const [, found] = /console\s+(http\S+)\/console/.exec(shown) ?? [];
      if (found === undefined) return;
      clearTimeout(timer);
      resolve(found);
    });
    child.once('close', () => reject(new Error(`The server ended:\n${shown}`)));
  });
  return {
    url,
    key: (await readFile(path.join(state, 'api-key'), 'utf8')).trim(),
    async stop() {
      child.kill('SIGTERM');
      await closed;
      await rm(home, { recursive: true, force: true });
    },
  };
};

/** Requests of several clients, one of which fails, so that the pages have something to show. */
const fill = async ({ url, key }: Server): Promise<void> => {
  const send = async (at: string, body: object, agent: string): Promise<void> => {
    const answer = await fetch(`${url}${at}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'user-agent': agent,
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    await answer.text();
  };
  const texts = ['Say hello.', 'Write a haiku about queues.', 'What is a lease?', 'Name three primes.'];
  for (const [index, input] of texts.entries()) {
    await send('/v1/responses', { model: 'codex-5', input, stream: index % 2 === 0 }, 'OpenAI/JS 7.53.0');
    const messages = [{ role: 'user', content: input }];
    await send('/v1/chat/completions', { model: 'codex-5', messages }, 'OpenAI/Python 2.9.0');
    await send('/v1/messages', { model: 'claude-opus-4', max_tokens: 100, messages }, 'claude-cli/2.1.0');
  }
  await send('/v1/responses', { model: 'no-such-model', input: 'Hi.' }, 'curl/8.5.0');
  await send('/v1/responses', { model: 'codex-5', input: 7 }, 'curl/8.5.0');
  await send('/v1/codex/keys', { name: 'Editor on the laptop', scopes: ['infer'] }, 'curl/8.5.0');
  await send(
    '/v1/codex/keys',
    {
      name: 'Dashboard',
      note: 'Grafana',
      scopes: ['read'],
      limits: [{ unit: 'requests', window: 'day', max: 1000 }],
    },
    'curl/8.5.0',
  );
};

interface Picture {
  readonly name: string;
  /** The page in the navigation; null: the one that opens. */
  readonly page: string | null;
  readonly width: number;
  readonly height: number;
  readonly colorScheme: 'dark' | 'light';
  readonly prepare?: (page: Page) => Promise<void>;
}

const LARGE = { width: 1280, height: 800 };

const PICTURES: readonly Picture[] = [
  { name: 'console-home', page: null, ...LARGE, colorScheme: 'light' },
  { name: 'console-requests', page: 'Requests', ...LARGE, colorScheme: 'dark' },
  { name: 'console-keys', page: 'Keys', ...LARGE, colorScheme: 'light' },
  {
    name: 'console-playground',
    page: 'Playground',
    ...LARGE,
    colorScheme: 'dark',
    async prepare(page) {
      await page.getByRole('textbox', { name: 'Message' }).fill('Write a haiku about queues.');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.waitForTimeout(SETTLE_MS);
    },
  },
  { name: 'console-phone', page: null, width: 360, height: 740, colorScheme: 'dark' },
];

/** For charts, and for usage, which is written some seconds after a request. */
const SETTLE_MS = 2_500;

const take = async (browser: Browser, { url, key }: Server, picture: Picture): Promise<void> => {
  const { name, page: title, width, height, colorScheme, prepare } = picture;
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, locale: 'en-US' });
  const page = await context.newPage();
  page.setDefaultTimeout(PAGE_LIMIT_MS);
  await page.goto(`${url}/console`);
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('main#content').waitFor();
  if (title !== null) await page.getByRole('link', { name: title, exact: true }).click();
  await page.waitForTimeout(SETTLE_MS);
  await prepare?.(page);
  await page.screenshot({ path: path.join(IMAGES, `${name}.png`) });
  await context.close();
  console.log(`docs/images/${name}.png`);
};

await buildConsole();
const browser = await openBrowser();
if (typeof browser === 'string') throw new Error(`No browser runs here: ${browser}`);
const server = await startServer();
try {
  await mkdir(IMAGES, { recursive: true });
  await fill(server);
  for (const picture of PICTURES) await take(browser, server, picture);
} finally {
  await browser.close();
  await server.stop();
}
