import { afterAll, describe, expect, it } from 'vitest';

import { KEY, startChatGptProxy } from '../chatgpt/proxy.ts';
import { auditPage, openConsoleBrowser } from '../support/console-browser.ts';
import { hello } from '../support/scripts.ts';

/** The page Home of a server that is signed in to an imitation of ChatGPT. */

const browser = await openConsoleBrowser();
const proxy = await startChatGptProxy({ script: hello });
afterAll(() => proxy.close());
const server = { url: proxy.url, key: KEY };

describe.skipIf(browser.isMissing)('the page Home', browser.needs, () => {
  it('shows health, account, limits and usage', async () => {
    for (const stream of [true, false])
      await proxy.post('/v1/responses', { model: 'codex-5', input: 'hi', stream });
    const opened = await browser.signIn(server);
    const { page } = opened;
    const card = (title: string) => page.getByRole('region', { name: title, exact: true });
    await expect.poll(() => card('Server').innerText()).toMatch(/ready[^]*ChatGPT account[^]*plus/);
    expect(await card('Server').innerText()).toContain('worked, since');
    const meters = card('Limits of the account').getByRole('meter');
    expect(await meters.evaluateAll((all) => all.map((one) => one.ariaLabel))).toEqual(['5 hours', '7 days']);
    expect(await meters.first().getAttribute('aria-valuenow')).toBe('42');
    expect(await card('Limits of the account').innerText()).toMatch(/Resets in [\d,]+ days/);
    // Usage is written some seconds later.
    await expect
      .poll(
        async () => {
          await card('Usage').getByLabel('Range of time').selectOption('7d');
          await card('Usage').getByLabel('Range of time').selectOption('24h');
          await page.waitForTimeout(500);
          return card('Usage').innerText();
        },
        { timeout: 30_000 },
      )
      .toMatch(/Requests\s+2\s/);
    await card('Usage').locator('canvas').first().waitFor();
    await card('Usage').getByText('Show as a table').click();
    expect(await card('Usage').getByRole('row').count()).toBe(2);
    expect(await auditPage(opened)).toEqual([]);
    // The language of Chromium in the locale C, which `Intl` rejects.
    await page.addInitScript(
      `Object.defineProperty(navigator, 'language', { value: 'en-US@posix', configurable: true })`,
    );
    await page.reload();
    await card('Usage').locator('canvas').first().waitFor();
  });

  it('shows why the last requests failed', async () => {
    await proxy.post('/v1/responses', { model: 'codex-5', input: 7 });
    const opened = await browser.signIn(server);
    const card = opened.page.getByRole('region', { name: 'Last errors', exact: true });
    await expect
      .poll(() => card.getByRole('listitem').first().innerText())
      .toMatch(/^400\s+invalid_type\s+\/v1\/responses · [^]*'input'/);
    expect(await card.getByRole('link', { name: 'invalid_type' }).getAttribute('href')).toMatch(
      /^\/console\/requests\/./,
    );
    expect(await auditPage(opened)).toEqual([]);
  });

  it('says how to connect each client, and copies it', async () => {
    const { page, problems } = await browser.signIn(server, '', {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const card = page.getByRole('region', { name: 'Connect a client', exact: true });
    const copied = async (name: string): Promise<string> => {
      await card.getByRole('button', { name }).click();
      await card.getByRole('button', { name }).getByText('Copied').waitFor();
      return page.evaluate('navigator.clipboard.readText()');
    };
    expect(await copied('Copy the base URL')).toBe(`${server.url}/v1`);
    await card.getByLabel('Client').selectOption({ label: 'Codex' });
    expect(await copied('Copy the command')).toBe(`npm run connect -- codex --url ${server.url}`);
    const settings = await copied('Copy the settings for ~/.codex/config.toml');
    expect(settings).toContain(`base_url = "${server.url}/v1"`);
    expect(settings).not.toContain(KEY);
    expect(problems).toEqual([]);
  });
});
