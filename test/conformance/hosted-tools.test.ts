import type { ResponseIncludable, ResponseInputItem, Tool } from 'openai/resources/responses/responses';
import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { HOSTED_ITEMS, hostedStep, type HostedItem } from '../support/hosted-items.ts';
import { hello, http400, inTurn, says } from '../support/scripts.ts';
import { without } from '../laws/exact-differences.ts';
import { openChecked } from './responses-checked.ts';
import { objectsIn, sentBody } from './responses-sent.ts';

const { proxy, client } = await openChecked(hello);

const QUESTION = { role: 'user', content: 'Do it.' } as const;
const NATURAL = { headers: { 'x-proxy-output-layout': 'natural' } };
const SHOP = { type: 'mcp', server_label: 'shop', server_url: 'https://example.org/mcp' };

/** The tool of each item, and the client's answer to it. */
const TOOLS: Readonly<Record<keyof typeof HOSTED_ITEMS, readonly [tool: JsonObject, answer?: JsonObject]>> = {
  'web search': [{ type: 'web_search_preview', user_location: { type: 'approximate', city: 'Oslo' } }],
  'file search': [{ type: 'file_search', vector_store_ids: ['vs_1'], max_num_results: 3 }],
  'code interpreter': [{ type: 'code_interpreter', container: { type: 'auto' } }],
  image: [{ type: 'image_generation', partial_images: 1, size: '1024x1024' }],
  'list of MCP tools': [{ ...SHOP, require_approval: 'never' }],
  'MCP call': [{ ...SHOP, require_approval: 'never', allowed_tools: ['buy'] }],
  'MCP approval': [SHOP, { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true }],
  computer: [
    { type: 'computer_use_preview', display_width: 8, display_height: 8, environment: 'browser' },
    {
      type: 'computer_call_output',
      call_id: 'call_cu',
      output: { type: 'computer_screenshot', image_url: 'data:image/png;base64,AAAA' },
      acknowledged_safety_checks: [],
    },
  ],
  'local shell': [
    { type: 'local_shell' },
    { type: 'local_shell_call_output', id: 'lsh_1', call_id: 'call_lsh', output: '{}' },
  ],
  shell: [{ type: 'shell' }, { type: 'shell_call_output', call_id: 'call_sh', output: [] }],
  patch: [
    { type: 'apply_patch' },
    { type: 'apply_patch_call_output', call_id: 'call_apc', status: 'completed' },
  ],
};

const ask = (tool: JsonObject) => ({
  model: 'gpt-5.5',
  input: [QUESTION],
  tools: [tool as unknown as Tool],
});

describe.each(Object.entries<HostedItem>(HOSTED_ITEMS))('%s', (name, hosted) => {
  const [tool, answered] = TOOLS[name as keyof typeof TOOLS];
  const step = hostedStep(hosted);
  const { item, initial, events = [] } = step;

  it('reaches the backend, and its item is returned whole; both are sent with the next request', async () => {
    proxy.use(inTurn(says([step]), says([{ text: 'Done.' }])));
    const before = proxy.model.requests.length;
    const first = await client.openai.responses.create(ask(tool), NATURAL);
    expect(first.output).toEqual([item]);
    expect(first.tools).toEqual([tool]);
    // There was no additional model request, such as an answer by codex itself.
    expect(proxy.model.requests.length).toBe(before + 1);
    expect(sentBody(proxy.model)['tools']).toEqual([tool]);
    const input = [QUESTION, ...first.output, ...(answered === undefined ? [] : [answered]), QUESTION];
    const second = await client.openai.responses.create({
      ...ask(tool),
      input: input as unknown as ResponseInputItem[],
    });
    expect(second.output_text).toBe('Done.');
    expect(objectsIn(sentBody(proxy.model)['input']).slice(1, -1)).toEqual(input.slice(1, -1));
  });

  it('reports its progress in its own events', async () => {
    proxy.use(says([step]));
    const stream = client.openai.responses.stream(ask(tool), NATURAL);
    expect((await stream.finalResponse()).output).toEqual([item]);
    const place = { item_id: item['id'], output_index: 0 };
    const received = (await client.lastEvents()).map((event) =>
      without(event as JsonObject, 'sequence_number'),
    );
    expect(received.slice(2, -1)).toEqual([
      { type: 'response.output_item.added', output_index: 0, item: initial },
      ...events.map((event) => ({ ...event, ...place })),
      { type: 'response.output_item.done', output_index: 0, item },
    ]);
  });
});

describe('hosted tools', () => {
  const search = { type: 'web_search' };

  it('are chosen by type, and their include values are forwarded', async () => {
    proxy.use(says([hostedStep(HOSTED_ITEMS['web search']), { text: 'Done.' }]));
    const include: ResponseIncludable[] = [
      'web_search_call.action.sources',
      'file_search_call.results',
      'code_interpreter_call.outputs',
      'computer_call_output.output.image_url',
    ];
    // OpenAI accepts this choice, but its schema lacks it.
    const response = await proxy.post('/v1/responses', { ...ask(search), tool_choice: search, include });
    expect([response.status, response.headers.get('x-proxy-ignored-params')]).toEqual([200, null]);
    await response.text();
    expect(sentBody(proxy.model)).toMatchObject({
      tools: [search],
      tool_choice: search,
      include: ['reasoning.encrypted_content', ...include],
    });
  });

  it('can be combined with functions, and an answer may have calls of both', async () => {
    const weather = { type: 'function', name: 'get_weather', parameters: {}, strict: false };
    proxy.use((request, connection) =>
      says([
        hostedStep(HOSTED_ITEMS['file search']),
        { call: { name: 'get_weather', arguments: {}, callId: 'call_1' } },
      ])(request, connection),
    );
    const { output } = await client.openai.responses.create(
      { ...ask(search), tools: [search, weather] as Tool[] },
      NATURAL,
    );
    expect(output.map(({ type }) => type)).toEqual(['file_search_call', 'function_call']);
  });

  it('are not called if only the client could run them and it declared none', async () => {
    proxy.use(says([hostedStep(HOSTED_ITEMS.computer), { text: 'Never mind.' }]));
    const { output } = await client.openai.responses.create(ask(search), NATURAL);
    expect(output.map(({ type }) => type)).toEqual(['message']);
  });

  it('are not dropped if the backend rejects them: the client gets the error', async () => {
    const message = "Hosted tool 'web_search_preview' is not supported with gpt-5.5.";
    proxy.use(http400(message, 'tools'));
    const before = proxy.model.requests.length;
    await expect(client.openai.responses.create(ask({ type: 'web_search_preview' }))).rejects.toMatchObject({
      status: 400,
      param: 'tools',
      error: { message },
    });
    expect(proxy.model.requests.length).toBe(before + 1);
  });

  it('keep their position in a turn that codex continues', async () => {
    proxy.use(
      inTurn(
        says([
          { text: 'Let me see.', id: 'msg_1' },
          hostedStep(HOSTED_ITEMS['file search']),
          { call: { name: 'nobody_has_it', arguments: {}, callId: 'call_1' } },
        ]),
        says([{ text: 'Done.' }]),
      ),
    );
    await client.openai.responses.create(ask(search));
    const items = objectsIn(sentBody(proxy.model)['input']);
    expect(items.slice(1).map(({ type }) => type)).toEqual([
      'message',
      'file_search_call',
      'function_call',
      'function_call_output',
    ]);
    expect(items[2]).toEqual(hostedStep(HOSTED_ITEMS['file search']).item);
  });
});

describe('files', () => {
  const pdf = { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' };

  it('reach a backend that accepts files unchanged, from both APIs', async () => {
    proxy.use(hello);
    const content = [
      { type: 'input_file', ...pdf },
      { type: 'input_file', file_url: 'https://example.org/never-fetched.pdf', detail: 'high' },
      { type: 'input_file', file_id: 'file_1' },
      { type: 'input_text', text: 'Read.' },
    ];
    await client.openai.responses.create({
      model: 'gpt-5.5',
      input: [{ role: 'user', content: content as never }],
    });
    expect(objectsIn(sentBody(proxy.model)['input'])).toEqual([{ type: 'message', role: 'user', content }]);
    await proxy.openai.chat.completions.create({
      model: 'gpt-5.5',
      messages: [{ role: 'user', content: [{ type: 'file', file: pdf }] }],
    });
    expect(objectsIn(sentBody(proxy.model)['input'])[0]?.['content']).toEqual([
      { type: 'input_file', ...pdf },
    ]);
  });

  it('are sent as text to a backend without files, from the second attempt on', async () => {
    proxy.use((request, connection) =>
      JSON.stringify(request.body).includes('"input_file"')
        ? http400("Invalid value: 'input_file'. Supported values are: 'input_text'.", null)(
            request,
            connection,
          )
        : hello(request, connection),
    );
    const text = {
      type: 'input_file',
      filename: 'a.md',
      file_data: 'data:text/markdown;base64,IyBI',
    } as const;
    const create = (part: object, model: string) =>
      client.openai.responses.create({ model, input: [{ role: 'user', content: [part as never] }] });
    await create(text, 'one');
    expect(objectsIn(sentBody(proxy.model)['input'])[0]?.['content']).toEqual([
      { type: 'input_text', text: 'a.md:\n\n# H' },
    ]);
    const before = proxy.model.requests.length;
    await create(text, 'one');
    expect(proxy.model.requests.length).toBe(before + 1);
    await expect(create({ type: 'input_file', ...pdf }, 'two')).rejects.toMatchObject({ status: 400 });
  });
});
