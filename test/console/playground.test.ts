import { describe, expect, it } from 'vitest';

import { auditPage, openConsoleBrowser, tabStops } from '../support/console-browser.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello, http429, reasoningThenText, says, toolCall } from '../support/scripts.ts';

const browser = await openConsoleBrowser();
const proxy = await openProxy(hello);

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** The items of the last model request, without the instructions of codex. */
const lastInput = (): readonly Record<string, unknown>[] =>
  (proxy.model.requests.at(-1)?.body['input'] ?? []) as readonly Record<string, unknown>[];

describe.skipIf(browser.isMissing)('the page Playground', browser.needs, () => {
  it('streams answers, keeps the conversation with its reasoning, and shows the usage', async () => {
    proxy.use(reasoningThenText);
    const opened = await browser.signIn(proxy, '/playground');
    const { page } = opened;
    await page.getByLabel('Message').fill('First');
    await page.keyboard.press('Control+Enter');
    await page.getByText('tokens in').waitFor();
    expect(await page.getByRole('region', { name: 'Model' }).count()).toBe(1);
    proxy.use(hello);
    await page.getByLabel('Images').setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: PNG });
    await page.getByRole('img', { name: 'Attachment 1' }).waitFor();
    await page.getByLabel('Message').fill('Second');
    expect(await auditPage(opened)).toEqual([]);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Hello from the scripted model.').waitFor();
    await page.getByText('11 tokens in · 3 cached · 7 out · 1 for reasoning').waitFor();
    const kinds = lastInput().map(({ type, role }) => (type === 'message' ? role : type));
    expect(kinds.slice(-4)).toEqual(['user', 'reasoning', 'assistant', 'user']);
    expect(JSON.stringify(lastInput().at(-1))).toContain('data:image/png;base64,');
    const [other] = await Promise.all([
      page.context().waitForEvent('page'),
      page.getByRole('link', { name: /^req_/ }).last().click(),
    ]);
    await other.getByRole('link', { name: 'All requests' }).waitFor();
    expect(other.url()).toContain('/console/requests/req_');
    await other.close();
    const stops = (await tabStops(page)).map(({ name }) => name);
    expect(stops).toEqual(expect.arrayContaining(['Copy as code', 'Message', 'Model', 'Tools']));
  });

  it('asks for the output of a tool, and copies the request as code', async () => {
    proxy.use(toolCall());
    const opened = await browser.signIn(proxy, '/playground');
    const { page } = opened;
    await page.getByRole('button', { name: 'Insert an example: Tools' }).click();
    await page.getByLabel('Message').fill('Weather?');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByLabel('Output of get_weather').waitFor();
    await expect.poll(() => page.evaluate('document.activeElement?.tagName')).toBe('TEXTAREA');
    await page.keyboard.type('{"sky":"clear"}');
    proxy.use(hello);
    await page.getByRole('button', { name: 'Send outputs' }).click();
    await page.getByText('Hello from the scripted model.').waitFor();
    const [call, output] = lastInput().slice(-2);
    expect([call?.['type'], output]).toMatchObject([
      'function_call',
      { type: 'function_call_output', output: '{"sky":"clear"}' },
    ]);
    await page.getByRole('button', { name: 'Copy as code' }).click();
    const code = page.getByRole('dialog').getByRole('region');
    expect(await code.innerText()).toContain(`curl '${proxy.url}/v1/responses'`);
    await page.getByLabel('Python').check();
    expect(await code.innerText()).toContain('"output": "{\\"sky\\":\\"clear\\"}"');
    expect(await auditPage(opened)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.getByText('Write a message to begin.').waitFor();
  });

  it('checks JSON, sends a schema, and stops an answer', async () => {
    proxy.use(says([{ text: 'One, two', end: 'open' }, { hang: true }]));
    const { page } = await browser.signIn(proxy, '/playground');
    await page.getByLabel('Message').fill('Count');
    const schema = page.getByRole('textbox', { name: 'JSON schema of the answer' });
    await schema.fill('{');
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true);
    await schema.fill('');
    await page.getByRole('button', { name: 'Insert an example: JSON schema of the answer' }).click();
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('One, two').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped. The next request does not contain this part of the answer.').waitFor();
  });

  it('shows errors as the server says them', async () => {
    proxy.use(http429());
    const { page } = await browser.signIn(proxy, '/playground');
    await page.getByLabel('Message').fill('Hi');
    await page.getByRole('button', { name: 'Send' }).click();
    await expect.poll(() => page.getByRole('alert').innerText()).toContain('rate_limit_exceeded');
    expect(await page.getByRole('alert').innerText()).toContain('req_');
  });
});
