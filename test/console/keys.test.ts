import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';

import { auditPage, openConsoleBrowser, settled } from '../support/console-browser.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';

const browser = await openConsoleBrowser();
const proxy = await openProxy(hello);

/** Fills the form with a key of this name, and returns the secret that is shown. */
const createKey = async (page: Page, name: string, fill: () => Promise<void>): Promise<string> => {
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByLabel('Name').fill(name);
  await fill();
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  return shownSecret(page);
};

const shownSecret = async (page: Page): Promise<string> => {
  const secret = await page.getByRole('region', { name: 'the secret' }).innerText();
  // Not the button that closes it, for people who press Enter twice.
  await expect.poll(() => page.evaluate('document.activeElement?.ariaLabel')).toBe('Copy the secret');
  await page.getByRole('button', { name: 'Done' }).click();
  return secret.trim();
};

const ask = (key: string): Promise<Response> =>
  proxy.post(
    '/v1/responses',
    { model: 'gpt-5.5', input: 'Hi' },
    { headers: { authorization: `Bearer ${key}` } },
  );

const statusOf = async (key: string): Promise<number> => (await ask(key)).status;

describe.skipIf(browser.isMissing)('the page Keys', browser.needs, () => {
  it('creates a key with all fields, shows its secret once, and its limits', async () => {
    const opened = await browser.signIn(proxy, '/keys');
    const { page } = opened;
    await page.getByText('There are no named keys yet.').waitFor();
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('The key needs a name.').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    const secret = await createKey(page, 'Build server', async () => {
      await page.getByLabel('Note').fill('CI');
      await page.getByLabel('Allowed models').fill('gpt-*');
      await page.getByLabel('Allowed workspaces').fill('web');
      await page.getByLabel('Allowed addresses').fill('127.0.0.0/8');
      await page.getByLabel('Turns at the same time').fill('3');
      await page.getByLabel('Highest reasoning effort').selectOption('high');
      await page.getByRole('button', { name: 'Add a limit' }).click();
      await page.getByLabel('At most').fill('1000000');
      expect(await auditPage(opened)).toEqual([]);
    });
    expect(await statusOf(secret)).toBe(200);
    const list = (await (await proxy.get('/v1/codex/keys')).json()) as { data: readonly object[] };
    expect(list.data).toEqual([
      expect.objectContaining({
        name: 'Build server',
        note: 'CI',
        scopes: ['infer'],
        models: ['gpt-*'],
        workspaces: ['web'],
        effort: 'high',
        addresses: ['127.0.0.0/8'],
        concurrency: 3,
        limits: [{ unit: 'tokens', window: 'day', max: 1_000_000, model: null }],
        expires_at: null,
        status: 'active',
      }),
    ]);
    await page.reload();
    await page.getByRole('meter', { name: 'tokens in a day' }).waitFor();
    expect(await page.getByRole('table').innerText()).toContain('18 of 1M tokens in a day');
    expect(await page.content()).not.toContain(secret);
    expect(await auditPage(opened)).toEqual([]);
  });

  it('edits, pauses, resumes, rotates, resets and revokes a key', async () => {
    const opened = await browser.signIn(proxy, '/keys');
    const { page } = opened;
    const first = await createKey(page, 'Laptop', async () => {
      await page.getByRole('button', { name: 'Add a limit' }).click();
      await page.getByLabel('At most').fill('1');
      await page.getByLabel('Unit').selectOption('requests');
    });
    expect([await statusOf(first), await statusOf(first)]).toEqual([200, 429]);
    await page.getByRole('link', { name: 'Laptop' }).click();
    await page.getByRole('heading', { level: 1, name: 'Laptop' }).waitFor();
    await page.getByRole('button', { name: 'Reset limits' }).click();
    await expect.poll(() => statusOf(first)).toBe(200);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('button', { name: 'Remove limit 1' }).click();
    await page.getByLabel('Note').fill('of Ada');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('of Ada').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    expect(await statusOf(first)).toBeGreaterThanOrEqual(400);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await page.getByRole('button', { name: 'Rotate' }).click();
    await page.getByLabel('The old secret works').selectOption('not at all');
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
    const second = await shownSecret(page);
    expect([await statusOf(first), await statusOf(second)]).toEqual([401, 200]);
    expect(await auditPage(opened)).toEqual([]);
    await page.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    expect(await statusOf(second)).toBe(200);
    await page.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('revoked', { exact: true }).waitFor();
    expect(await statusOf(second)).toBe(401);
    expect(await page.getByRole('button', { name: 'Edit' }).count()).toBe(0);
  });

  it('changes nothing for a key with the scope read, which cannot use the playground either', async () => {
    const made = (await (
      await proxy.post('/v1/codex/keys', { name: 'Reader', scopes: ['read'] })
    ).json()) as { readonly key: string };
    const { page, goTo } = await browser.signIn({ url: proxy.url, key: made.key }, '/keys');
    await page.getByText('Read only: changes need a key with the scope "admin".').waitFor();
    expect(await page.getByRole('button', { name: 'Create a key' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Reader' }).click();
    await page.getByRole('heading', { level: 1, name: 'Reader' }).waitFor();
    await settled(page);
    expect(await page.getByRole('button', { name: 'Revoke' }).count()).toBe(0);
    await goTo('Playground');
    await page.getByText('Requests to models need a key with the scope "infer".').waitFor();
  });
});
