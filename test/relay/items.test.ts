import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { hello, says } from '../support/scripts.ts';
import { collectSse, eventsOf } from '../support/sse.ts';

/** What the app-server does not report, or not unchanged: the client gets it from the relay. */
let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startProxy(says([]));
});
afterEach(() => proxy.use(says([])));
afterAll(() => proxy.close());

const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const ASK = { model: 'gpt-5.5', input: 'hi' };
const raw = (type: string, data: JsonObject) => ({ event: { type, ...data } });
const added = (item: JsonObject, output_index: number) =>
  raw('response.output_item.added', { output_index, item });
const done = (item: JsonObject, output_index: number) =>
  raw('response.output_item.done', { output_index, item });

const whole = async (): Promise<JsonObject> =>
  (await (
    await proxy.post('/v1/responses', ASK, { headers: { 'x-proxy-output-layout': 'natural' } })
  ).json()) as JsonObject;
const streamed = async (): Promise<readonly JsonObject[]> => {
  const headers = { 'x-proxy-output-layout': 'natural' };
  return eventsOf(
    await collectSse(await proxy.post('/v1/responses', { ...ASK, stream: true }, { headers })),
  ) as readonly JsonObject[];
};

describe('an item of the backend', () => {
  const search = { type: 'web_search_call', id: 'ws_1', status: 'in_progress' };
  const found = {
    ...search,
    status: 'completed',
    action: { type: 'search', query: 'q', sources: [{ type: 'url', url: 'https://example.com' }] },
  };
  const listed = { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 's', tools: [] };
  const sealed = { type: 'compaction', id: 'cmp_1', encrypted_content: 'opaque' };

  it('is passed on whole, whatever its type', async () => {
    proxy.use(
      says([
        added(search, 0),
        raw('response.web_search_call.searching', { item_id: 'ws_1', output_index: 0 }),
        done(found, 0),
        done(listed, 1),
        done(sealed, 2),
      ]),
    );
    expect((await whole())['output']).toEqual([found, listed, sealed]);
    const events = await streamed();
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.web_search_call.searching',
      'response.output_item.done',
      'response.output_item.added',
      'response.output_item.done',
      'response.output_item.added',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(events.at(-1)).toMatchObject({ response: { output: [found, listed, sealed] } });
  });

  it('has its annotations and log probabilities with the delta that they belong to', async () => {
    const annotation = {
      type: 'url_citation',
      url: 'https://example.com/a',
      title: 'A',
      start_index: 0,
      end_index: 3,
    };
    const logprobs = [{ token: 'Yes', bytes: [89, 101, 115], logprob: -0.1, top_logprobs: [] }];
    const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };
    const item = { id: 'msg_1', type: 'message', role: 'assistant' };
    const part = { type: 'output_text', text: 'Yes', annotations: [annotation], logprobs };
    proxy.use(
      says([
        added({ ...item, status: 'in_progress', content: [] }, 0),
        raw('response.output_text.delta', { ...at, delta: 'Yes', logprobs }),
        raw('response.output_text.annotation.added', { ...at, annotation_index: 0, annotation }),
        done({ ...item, status: 'completed', content: [part] }, 0),
      ]),
    );
    const events = await streamed();
    const of = (type: string): readonly JsonObject[] => events.filter((event) => event['type'] === type);
    expect(of('response.output_text.delta')).toMatchObject([{ delta: 'Yes', logprobs }]);
    expect(of('response.output_text.annotation.added')).toMatchObject([{ annotation_index: 0, annotation }]);
    expect(of('response.output_item.done')).toMatchObject([{ item: { content: [part] } }]);
  });

  it('is not missing from an answer that counts as complete, however long it is', async () => {
    const image = { type: 'image_generation_call', id: 'ig_1', status: 'completed' };
    proxy.use(says([{ text: 'Look.' }, done({ ...image, result: 'x'.repeat(20 * 1024 * 1024) }, 1)]));
    expect(await whole()).toMatchObject({
      error: { code: 'upstream_error', message: 'The upstream sent an event of more than 16 MB.' },
    });
    proxy.use(says([{ text: 'Look.' }, done({ ...image, result: 'x'.repeat(1024 * 1024) }, 1)]));
    expect(await whole()).toMatchObject({ status: 'completed', output: [{ type: 'message' }, image] });
  });
});

/** Of codex's older and its newest kind. */
describe.each(['gpt-5.5', 'gpt-6.1-sol'])('what reaches a provider: %s', (model) => {
  const reached = async (body: JsonObject): Promise<JsonObject> => {
    proxy.use(hello);
    const response = await proxy.post('/v1/responses', { input: 'hi', ...body });
    await response.text();
    expect([response.status, response.headers.get('x-proxy-ignored-params')]).toEqual([200, null]);
    return proxy.model.requests.at(-1)?.body ?? {};
  };

  it('includes cache breakpoints, callers of calls, and other fields for the backend', async () => {
    const prompt_cache_breakpoint = { mode: 'explicit', ttl: '12h' };
    const asked = {
      prompt_cache_options: { mode: 'explicit', ttl: '12h' },
      access_programs: { cyber: 'standard' },
      image: { context_compression: 'disabled' },
      reasoning: { mode: 'pro' },
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'A long text.', prompt_cache_breakpoint },
            { type: 'input_image', image_url: PNG, prompt_cache_breakpoint },
            { type: 'input_image', file_id: 'file-1', detail: 'low' },
          ],
        },
        { type: 'function_call', call_id: 'c1', name: 'book', arguments: '{}', caller: { type: 'direct' } },
        {
          type: 'function_call_output',
          call_id: 'c1',
          caller: { type: 'direct' },
          output: [{ type: 'input_text', text: 'done', prompt_cache_breakpoint }],
        },
      ],
    };
    expect(await reached({ model, ...asked })).toMatchObject(asked);
  });

  it('includes images and files by URL, as the client wrote them', async () => {
    const content = [
      { type: 'input_image', image_url: 'HTTPS://images.test:443/a%20b.png?c#d', detail: 'low' },
      { type: 'input_image', image_url: 'http://127.0.0.1:1/private.png', detail: 'original' },
      { type: 'input_file', file_url: 'https://files.test/a.pdf' },
    ];
    const input = [
      { role: 'user', content },
      { type: 'function_call', call_id: 'c1', name: 'book', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: content },
    ];
    expect((await reached({ model, input }))['input']).toMatchObject(input);
  });
});
