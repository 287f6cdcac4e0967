import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import type { ScriptStep } from '../../src/demo/script-step.ts';
import { openConsoleBrowser, settled } from '../support/console-browser.ts';
import { mcpFiles } from '../support/mcp/config-file.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello, inTurn, says } from '../support/scripts.ts';

/** The page Agents with the real server and the real app-server; a script is the model. */

const shop = await realpath(await mkdtemp(path.join(tmpdir(), 'workspace-shop-')));
afterAll(() => rm(shop, { recursive: true, force: true }));
await writeFile(path.join(shop, 'a.txt'), 'one\ntwo\nthree\n');

const command = (cmd: string, callId: string): ScriptStep => ({
  call: { name: 'exec_command', arguments: { cmd }, callId },
});
const patch = (text: string, callId: string): ScriptStep => ({
  call: { name: 'apply_patch', tool: 'custom', arguments: text, callId },
});

const plan = (steps: readonly (readonly [step: string, status: string])[]): ScriptStep => ({
  call: {
    name: 'update_plan',
    arguments: { plan: steps.map(([step, status]) => ({ step, status })) },
    callId: 'call_0',
  },
});

const browser = await openConsoleBrowser();
const proxy = await openProxy(hello, {
  PROXY_MCP_CONFIG: mcpFiles().write({ shop: { workspace: shop, require_approval: 'never' } }),
});

describe.skipIf(browser.isMissing)('the page Agents with codex', browser.needs, () => {
  it('shows commands, changes, approvals and the end of a cancelled turn', async () => {
    proxy.use(
      inTurn(
        says([
          plan([
            ['Look', 'completed'],
            ['Change', 'in_progress'],
          ]),
        ]),
        says([command(String.raw`printf "\033[32mgreen\033[0m\n"; sleep 1; echo end`, 'call_1')]),
        says([
          patch(
            '*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n three\n*** End Patch\n',
            'call_2',
          ),
        ]),
        says([{ text: 'Done: **all** good.' }]),
        says([command('rm a.txt', 'call_3')]),
        says([{ text: 'I leave it.' }]),
        says([command('echo started; sleep 300', 'call_4')]),
        says([{ text: 'Never.' }]),
      ),
    );
    const { page, problems } = await browser.signIn(proxy, '/agents');
    await page.getByText(shop).waitFor();
    await page.getByLabel('Message').fill('Change it');
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByText('Done: all good.', { exact: true }).waitFor();
    await page.locator('.ansi-32', { hasText: 'green' }).waitFor();
    await page.getByText('Completed', { exact: true }).waitFor();
    const diff = await page.getByRole('region', { name: 'Diff of a.txt' }).innerText();
    await page.getByText('Now: Change').waitFor();
    expect(diff).toMatch(/−\s*two\s*2\s*\+\s*2/);

    await page.getByRole('link', { name: 'All sessions' }).click();
    await page.getByText('Change it').waitFor();
    await page.getByLabel('Message').fill('Remove it');
    await page.getByLabel('Ask before commands').check();
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('button', { name: 'Decline…' }).click();
    await page.keyboard.type('Keep it');
    await page.keyboard.press('Enter');
    await page.getByText('I leave it.', { exact: true }).waitFor();
    expect(JSON.stringify(proxy.model.requests.at(-1)?.body)).toContain('Keep it');

    await page.getByRole('textbox', { name: 'Message' }).fill('Sleep');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('region', { name: /^Command: echo started/ }).waitFor();
    await page.getByRole('button', { name: 'Cancel the turn' }).click();
    await page.getByText('Cancelled', { exact: true }).waitFor();
    expect(problems).toEqual([]);

    // What is stored shows the same.
    await page.reload();
    await settled(page);
    await page.getByText('Cancelled', { exact: true }).waitFor();
    await page.getByText('“Keep it”').waitFor();
    await page.getByText('Approved: echo started; sleep 300').waitFor();
  });
});
