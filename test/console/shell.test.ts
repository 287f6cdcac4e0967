import type { Request } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';

import { startPageServer } from '../browser/page-server.ts';
import { auditPage, openConsoleBrowser, tabStops } from '../support/console-browser.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';

/** The console in a real browser: signing in, the navigation, and what every page shares. */

const browser = await openConsoleBrowser();
const proxy = await openProxy(hello);
const pages = await startPageServer();
afterAll(() => pages.close());

describe.skipIf(browser.isMissing)('the sign-in page', browser.needs, () => {
  it('explains a wrong key, accepts a right one, and keeps the session after a reload', async () => {
    const opened = await browser.open(`${proxy.url}/console/settings`);
    const { page, problems } = opened;
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await expect.poll(() => page.evaluate('document.activeElement?.name')).toBe('key');
    expect(await auditPage(opened)).toEqual([]);
    await page.getByLabel('API key').fill('sk-wrong-key-0123456789');
    await page.keyboard.press('Enter');
    await expect
      .poll(() => page.getByRole('alert').textContent())
      .toContain('Incorrect API key provided: sk-wr***89.');
    // The browser itself reports the status of the answer.
    expect(problems.splice(0)).toEqual([expect.stringContaining('401')]);
    await page.getByLabel('API key').fill(proxy.key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Settings' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Settings' }).waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
    expect(problems).toEqual([]);
  });

  it('comes back when the session ends, also in another tab', async () => {
    const { page } = await browser.signIn(proxy);
    const other = await page.context().newPage();
    await other.goto(`${proxy.url}/console`);
    await other.getByRole('button', { name: 'Sign out' }).click();
    await other.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.getByRole('navigation').count()).toBe(0);
  });
});

describe.skipIf(browser.isMissing)('the console', browser.needs, () => {
  it('moves between pages with the history, the title and the focus', async () => {
    const { page, goTo, problems } = await browser.signIn(proxy);
    await goTo('Settings');
    const state = (): Promise<unknown> =>
      page.evaluate('[location.pathname, document.title, document.activeElement?.textContent]');
    await expect.poll(state).toEqual(['/console/settings', 'Settings · codex-app-server-proxy', 'Settings']);
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await expect.poll(state).toEqual(['/console', 'Home · codex-app-server-proxy', 'Home']);
    await page.goto(`${proxy.url}/console/nowhere`);
    await page.getByRole('heading', { name: 'No such page' }).waitFor();
    expect(problems).toEqual([]);
  });

  it('can be used with the keyboard alone', async () => {
    const { page } = await browser.signIn(proxy, '/nowhere');
    const stops = await tabStops(page);
    expect(stops.map(({ name }) => name).slice(0, 2)).toEqual(['Skip to content', 'Home']);
    expect(stops.map(({ name }) => name).slice(-2)).toEqual(['Sign out', 'Go to the start page']);
    expect(stops.filter(({ isMarked }) => !isMarked)).toEqual([]);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement?.id')).toBe('content');
  });

  it('has its navigation behind a button on a phone', async () => {
    const { page } = await browser.signIn(proxy, '', { viewport: { width: 360, height: 740 } });
    const menu = page.getByRole('button', { name: 'Menu' });
    expect(await page.getByRole('link', { name: 'Settings' }).isVisible()).toBe(false);
    await menu.click();
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
    expect(await menu.getAttribute('aria-expanded')).toBe('false');
  });

  it('loads at most 150 KB for its first page, nothing of it from elsewhere', async () => {
    const { page } = await browser.open('about:blank');
    const finished: Request[] = [];
    page.on('requestfinished', (request) => finished.push(request));
    await page.goto(`${proxy.url}/console`);
    await page.getByLabel('API key').fill(proxy.key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await page.waitForLoadState('networkidle');
    const loaded = await Promise.all(
      finished.map(async (one) => ({ url: one.url(), bytes: (await one.sizes()).responseBodySize })),
    );
    const files = loaded.filter(({ url }) => url.includes('/console'));
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    expect(files.length).toBeGreaterThan(4);
    expect(bytes).toBeLessThanOrEqual(150_000);
    expect(loaded.filter(({ url }) => !url.startsWith(proxy.url))).toEqual([]);
  });
});

describe.skipIf(browser.isMissing)('a page of another origin', browser.needs, () => {
  it('of the same site can neither use the session nor read the console', async () => {
    const url = proxy.url.replace('127.0.0.1', 'localhost');
    const { page, goTo } = await browser.signIn({ ...proxy, url });
    const other = await page.context().newPage();
    // The same host on another port: browsers send the cookie from there, too.
    await other.goto(`http://localhost:${pages.port}/`);
    const from = proxy.log.length;
    const read = (path: string, init: object): Promise<string> =>
      other.evaluate(
        `fetch('${url}${path}', ${JSON.stringify(init)}).then((answer) => String(answer.status), String)`,
      );
    const failed = 'TypeError: Failed to fetch';
    expect([
      await read('/v1/codex/config', { credentials: 'include' }),
      await read('/v1/codex/feedback', {
        method: 'POST',
        credentials: 'include',
        mode: 'no-cors',
        body: '{}',
      }),
      await read('/console/session', { credentials: 'include' }),
      await read('/console', {}),
    ]).toEqual([failed, '0', failed, failed]);
    const statuses = proxy.log.slice(from).filter(({ msg }) => msg === 'request');
    expect(statuses.map(({ status, keyId }) => [status, keyId])).toEqual([
      [403, null],
      [403, null],
      [403, null],
      [200, null],
    ]);
    await goTo('Settings');
  });
});
