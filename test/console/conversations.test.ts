import { beforeAll, describe, expect, it } from 'vitest';

import { auditPage, openConsoleBrowser, tabStops } from '../support/console-browser.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello, reasoningThenText, toolCall } from '../support/scripts.ts';

const browser = await openConsoleBrowser();
const proxy = await openProxy(hello);
const { openai } = proxy;

const IMAGE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

describe.skipIf(browser.isMissing)('the page Conversations', browser.needs, () => {
  let id = '';
  beforeAll(async () => {
    for (let count = 0; count < 51; count += 1)
      await openai.responses.create({ model: 'codex-5', input: `Question ${count}` });
    const conversation = await openai.conversations.create({
      metadata: { topic: 'tea' },
      items: [{ role: 'user', content: [{ type: 'input_image', image_url: IMAGE, detail: 'auto' }] }],
    });
    ({ id } = conversation);
    proxy.use(reasoningThenText);
    await openai.responses.create({ model: 'codex-5', input: 'What is <b>this</b>?', conversation: id });
    proxy.use(toolCall());
    const { output } = await openai.responses.create({
      model: 'codex-5',
      input: 'And the weather?',
      conversation: id,
      tools: [{ type: 'function', name: 'get_weather', parameters: { type: 'object' }, strict: false }],
    });
    const call = output.find(({ type }) => type === 'function_call');
    proxy.use(hello);
    await openai.responses.create({
      model: 'codex-5',
      conversation: id,
      input: [
        {
          type: 'function_call_output',
          call_id: call?.type === 'function_call' ? call.call_id : '',
          output: `Sunny. ${'Warm. '.repeat(4000)}`,
        },
      ],
    });
  });

  it('lists what is stored, page by page, and filters by key', async () => {
    const opened = await browser.signIn(proxy, '/conversations');
    const { page } = opened;
    const rows = page.locator('tbody tr');
    expect(await rows.count()).toBe(50);
    expect(await rows.first().innerText()).toMatch(/^conv_\w+\s+Conversation\s+key_[\w-]+\s+4\s/);
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(() => rows.count()).toBe(52);
    await page.getByLabel('Key').fill('key_unknown');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByText('Nothing is stored by this key.').waitFor();
    await page.goBack();
    await page.goForward();
    expect(await auditPage(opened)).toEqual([]);
  });

  it('shows one as a transcript, and deletes it after a question', async () => {
    const opened = await browser.signIn(proxy, `/conversations/${id}`);
    const { page } = opened;
    const texts = await page.locator('.item').allInnerTexts();
    expect(texts.map((text) => text.split('\n')[0])).toEqual([
      'User',
      'User',
      'Reasoning',
      'Assistant',
      'User',
      'Tool call: get_weather',
      'Tool output',
      'Assistant',
    ]);
    // Text of clients is never read as HTML.
    expect(texts[1]).toContain('What is <b>this</b>?');
    expect(await page.locator('.item img').getAttribute('src')).toBe(IMAGE);
    await page.getByText('Metadata: topic').waitFor();
    await page.getByRole('button', { name: /^Show all 24,\d+ characters$/ }).click();
    expect((await page.locator('.item').nth(6).innerText()).length).toBeGreaterThan(23_000);
    await page.getByText('Reasoning', { exact: true }).click();
    expect(await auditPage(opened)).toEqual([]);
    const stops = await tabStops(page);
    expect(stops.map(({ name }) => name)).toEqual(expect.arrayContaining(['Delete…', 'Reasoning']));
    expect(stops.filter(({ isMarked }) => !isMarked)).toEqual([]);
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { level: 1, name: 'Conversations' }).waitFor();
    await page.locator('tbody tr').first().waitFor();
    await page.getByText(id).waitFor({ state: 'detached' });
    await expect(openai.conversations.retrieve(id)).rejects.toThrow('not found');
  });
});
