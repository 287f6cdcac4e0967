import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { KEY, startChatGptProxy, type ChatGptProxy } from '../chatgpt/proxy.ts';
import { auditPage, openConsoleBrowser, tabStops } from '../support/console-browser.ts';
import { hello } from '../support/scripts.ts';

const browser = await openConsoleBrowser();

describe.skipIf(browser.isMissing)('the page Account', browser.needs, () => {
  let proxy: ChatGptProxy;
  beforeAll(async () => {
    proxy = await startChatGptProxy({ script: hello, login: null });
  });
  afterAll(() => proxy.close());
  const open = () => browser.signIn({ url: proxy.url, key: KEY }, '/account');

  it('signs in with a device code and out again, without a terminal', async () => {
    const opened = await open();
    const { page } = opened;
    await page.getByText('None: requests fail until you sign in').waitFor();
    await page.getByRole('button', { name: 'Sign in with a device code' }).click();
    await page.getByText('CODE-12345').waitFor();
    const link = page.getByRole('link', { name: /codex\/device/ });
    expect(await link.getAttribute('href')).toBe(`${proxy.backend.origin}/codex/device`);
    expect(await page.getByRole('timer').innerText()).toMatch(/^1[45]:\d\d$/);
    expect(await auditPage(opened)).toEqual([]);
    const stops = await tabStops(page);
    expect(stops.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['Copy the code', 'Cancel the sign-in']),
    );
    expect(stops.filter(({ isMarked }) => !isMarked)).toEqual([]);
    // A reload finds the pending sign-in again.
    await page.reload();
    await page.getByText('CODE-12345').waitFor();
    proxy.backend.settings.deviceLogin = 'approved';
    await page.getByText('The last sign-in succeeded.').waitFor();
    await page.getByText('Signed in', { exact: true }).waitFor();
    await page.getByText('ChatGPT', { exact: true }).waitFor();
    await page.getByRole('meter').first().waitFor();
    await page
      .getByRole('region', { name: 'Models' })
      .getByText('gpt-5.5', { exact: true })
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Sign out of the account…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Sign out of the account…' }).click();
    expect(await auditPage(opened)).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('Signed out', { exact: true }).waitFor();
  });

  it('cancels a sign-in, which other open pages show, too', async () => {
    proxy.backend.settings.deviceLogin = 'pending';
    const { page, problems } = await open();
    await page.getByRole('button', { name: 'Sign in with this browser' }).click();
    await page.getByRole('link', { name: /sign-in page of ChatGPT/ }).waitFor();
    const other = await browser.signIn({ url: proxy.url, key: KEY }, '/account');
    await other.page.getByRole('button', { name: 'Cancel the sign-in' }).click();
    // The other page learns of it.
    await page.getByText('The last sign-in was cancelled.').waitFor();
    expect(problems).toEqual([]);
  });

  it('only shows a pending sign-in, without its code, to a key that may only look', async () => {
    proxy.backend.settings.deviceLogin = 'pending';
    const made = await proxy.post('/v1/codex/keys', { name: 'looks', scopes: ['read'] });
    const started = await proxy.post('/v1/codex/login', { method: 'device' });
    expect(started.status).toBe(201);
    const { page, problems } = await browser.signIn(
      { url: proxy.url, key: made.json['key'] as string },
      '/account',
    );
    await page.getByText('Only keys with the scope “admin” see its code.').waitFor();
    expect(await page.getByText('CODE-12345').count()).toBe(0);
    expect(await page.locator('main').getByRole('button').allInnerTexts()).toEqual([]);
    expect(problems).toEqual([]);
  });
});
