import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { auditPage, openConsoleBrowser, tabStops } from '../support/console-browser.ts';
import { openProxy } from '../support/open-proxy.ts';
import { startProxy } from '../support/proxy.ts';
import { hang, hello, http429 } from '../support/scripts.ts';

const browser = await openConsoleBrowser();
const directory = await mkdtemp(path.join(tmpdir(), 'console-requests-'));
afterAll(() => rm(directory, { recursive: true, force: true }));
const proxy = await openProxy(hello, { PROXY_CAPTURE_DIR: directory });

const ask = async (requestId: string, more: object = {}, init: RequestInit = {}): Promise<Response> =>
  proxy.post(
    '/v1/responses',
    { model: 'gpt-5.5', input: 'What is <b>this</b>?', ...more },
    { ...init, headers: { 'x-request-id': requestId } },
  );

describe.skipIf(browser.isMissing)('the page Requests', browser.needs, () => {
  beforeAll(async () => {
    await (await ask('first-one', { seed: 1 })).text();
    proxy.use(http429(1));
    await (await ask('limited-one')).text();
    proxy.use(hello);
  });

  it('lists requests, shows new ones while they run, and filters', async () => {
    const opened = await browser.signIn(proxy, '/requests');
    const { page } = opened;
    await page.getByText('Live', { exact: true }).waitFor();
    const row = (id: string) => page.locator('tbody tr', { hasText: id });
    await row('limited-one').getByText('A limit of the backend (it answered 429)').waitFor();
    await expect
      .poll(() => row('first-one').innerText())
      .toMatch(/200[\s\S]*gpt-5\.5[\s\S]*11 in, 7 out[\s\S]*27\.3%[\s\S]*seed/);
    proxy.use(hang);
    const gone = new AbortController();
    const running = ask('busy-one', { stream: true }, { signal: gone.signal }).catch(() => null);
    await row('busy-one').getByText('Running', { exact: true }).waitFor();
    expect(await page.locator('tbody tr').first().innerText()).toContain('busy-one');
    gone.abort();
    await running;
    await row('busy-one').getByText('Left by the client').waitFor();
    proxy.use(hello);
    // Paused with the keyboard, the list stays as it is.
    await page.getByRole('heading', { level: 1 }).press('p');
    await page.getByText('Paused').waitFor();
    await (await ask('unseen-one')).text();
    await page.getByRole('button', { name: 'Continue' }).click();
    await row('unseen-one').getByText('200').waitFor();
    await page.getByLabel('Status').selectOption('With an error');
    await expect
      .poll(() => page.locator('tbody tr').allInnerTexts())
      .toEqual([expect.stringContaining('limited-one')]);
    expect(page.url()).toContain('status=failed');
    expect(await auditPage(opened)).toEqual([]);
    const stops = await tabStops(page);
    expect(stops.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['Pause', 'Status', 'Id', 'limited-one']),
    );
    expect(stops.filter(({ isMarked }) => !isMarked)).toEqual([]);
  });

  it('shows one request with its parts and bodies, and sends it again', async () => {
    proxy.use(hello);
    const opened = await browser.signIn(proxy, '/requests/first-one');
    const { page } = opened;
    const parts = await page.locator('.waterfall tbody th').allInnerTexts();
    expect(parts.map((text) => text.split('\n')[0])).toEqual(
      expect.arrayContaining([
        'Plan',
        'Wait for a slot',
        'App-server',
        'Backend',
        'First delta',
        'End of the answer',
      ]),
    );
    const bodies = await page.locator('.bodies pre').allInnerTexts();
    expect(bodies).toHaveLength(2);
    // Text of clients is never read as HTML.
    for (const body of bodies) expect(body).toContain('What is <b>this</b>?');
    await page.getByRole('button', { name: 'Copy as curl' }).waitFor();
    expect(await auditPage(opened)).toEqual([]);
    await page.getByRole('button', { name: 'Replay…' }).click();
    await page.getByRole('button', { name: 'Send again' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Hello from the scripted model.').waitFor();
    await dialog.getByRole('link').click();
    await page.getByText('Replay of').waitFor();
    expect(opened.problems).toEqual([]);
  });

  it('says why a request failed, and what a read-only session cannot do', async () => {
    const created = await proxy.post('/v1/codex/keys', { name: 'Reader', scopes: ['read'] });
    const { key } = (await created.json()) as { key: string };
    const { page, problems } = await browser.signIn({ url: proxy.url, key }, '/requests/limited-one');
    await page.locator('.note-bad').getByText('rate_limit_exceeded').waitFor();
    expect(await page.getByRole('button', { name: 'Replay…' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Capture…' }).count()).toBe(0);
    expect(problems).toEqual([]);
  });

  it('has the next requests captured', async () => {
    const quiet = await startProxy(hello);
    const opened = await browser.signIn(quiet, '/requests');
    const { page } = opened;
    await page.getByRole('button', { name: 'Capture…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('No request is captured now.').waitFor();
    expect(await auditPage(opened)).toEqual([]);
    await dialog.getByLabel('Next requests').fill('1');
    await dialog.getByRole('button', { name: 'Capture', exact: true }).click();
    await dialog.getByText('The next request of all keys will be captured.').waitFor();
    await dialog.getByRole('button', { name: 'Stop' }).click();
    await dialog.getByText('No request is captured now.').waitFor();
    await quiet.close();
  });
});
