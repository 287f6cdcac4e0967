import { describe, expect, it } from 'vitest';

import { auditPage, openConsoleBrowser } from '../support/console-browser.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';

const browser = await openConsoleBrowser();
const proxy = await openProxy(hello, { PROXY_WORKERS: '1', PROXY_LOG_LEVEL: 'debug' });

describe.skipIf(browser.isMissing)('the page Settings', browser.needs, () => {
  it('shows every value and where it comes from, and finds settings', async () => {
    const opened = await browser.signIn(proxy, '/settings');
    const { page } = opened;
    const rows = page.getByRole('table').locator('tbody tr');
    expect(await rows.count()).toBeGreaterThan(40);
    await page.getByLabel('Find').fill('log_level');
    expect(await rows.allInnerTexts()).toEqual([
      expect.stringMatching(/^PROXY_LOG_LEVEL\s+debug\s+environment$/),
    ]);
    await page.getByLabel('Find').fill('');
    await page.getByLabel('Only what differs from the default').check();
    expect(await rows.count()).toBeLessThan(20);
    await page.getByLabel('Find').fill('nothing like this');
    await page.getByText('No setting matches.').waitFor();
    await page.getByLabel('Find').fill('');
    expect(await auditPage(opened)).toEqual([]);
  });
});
