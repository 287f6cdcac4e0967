import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { openProxy } from '../support/open-proxy.ts';
import { collectSse, eventsOf } from '../support/sse.ts';
import { hello, LOGPROBS, obedient, says, sureOfItself } from '../support/scripts.ts';

/** What the relay does for Responses it does for Chat: the same turns in another format. */
const proxy = await openProxy(hello);

const ASK = { model: 'gpt-5.5', messages: [{ role: 'user', content: 'hi' }] };
const PATH = '/v1/chat/completions';

const sent = async (body: Record<string, unknown>, script = obedient): Promise<JsonObject> => {
  proxy.use(script);
  const response = await proxy.post(PATH, { ...ASK, ...body });
  await response.text();
  expect([response.status, response.headers.get('x-proxy-ignored-params')]).toEqual([200, null]);
  return proxy.model.requests.at(-1)?.body ?? {};
};

describe('a chat request', () => {
  it('passes on its trace context, and logs it with a summary of the request', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const body = {
      ...ASK,
      messages: [
        { role: 'system', content: 'Be terse.' },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://images.test/a.png' } }] },
      ],
      tools: [{ type: 'function', function: { name: 'f' } }],
    };
    proxy.use(hello);
    const response = await proxy.post(PATH, body, {
      headers: {
        traceparent,
        tracestate: 'a=b',
        'x-copilot-trace-id': 'copilot-1',
        'x-request-id': 'traced-1',
      },
    });
    await response.text();
    const { headers } = proxy.model.requests.at(-1) ?? {};
    expect([headers?.['traceparent'], headers?.['tracestate']]).toEqual([traceparent, 'a=b']);
    expect(proxy.log.find(({ requestId }) => requestId === 'traced-1')).toMatchObject({
      msg: 'request',
      traceparent,
      copilotTraceId: 'copilot-1',
      request: { items: 2, tools: 1, images: 1, bytes: JSON.stringify(body).length },
    });
    expect(JSON.stringify(proxy.log)).not.toContain('images.test');
  });

  it('reaches the model with every parameter', async () => {
    const plain = {
      temperature: 0.25,
      top_p: 0.5,
      presence_penalty: 0.5,
      frequency_penalty: -0.5,
      seed: 42,
      metadata: { relayTurn: 'A-1' },
      safety_identifier: 'user-7',
      user: 'u7',
      prompt_cache_key: 'my key',
      service_tier: 'default',
    };
    expect(
      await sent({ ...plain, max_completion_tokens: 1234, logprobs: true, top_logprobs: 3 }, sureOfItself),
    ).toMatchObject({
      ...plain,
      max_output_tokens: 1234,
      top_logprobs: 3,
      include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
    });
  });

  it('reaches the model with its cache breakpoints, and images by URL', async () => {
    const prompt_cache_breakpoint = { mode: 'explicit' };
    const prompt_cache_options = { mode: 'explicit', ttl: '12h' };
    const body = await sent({
      prompt_cache_options,
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'Be terse.', prompt_cache_breakpoint }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'hi', prompt_cache_breakpoint },
            { type: 'file', file: { file_id: 'file-1' }, prompt_cache_breakpoint },
            { type: 'image_url', image_url: { url: 'https://images.test/a.png', detail: 'low' } },
          ],
        },
      ],
    });
    expect(body).toMatchObject({
      prompt_cache_options,
      input: [
        { role: 'system', content: [{ type: 'input_text', text: 'Be terse.', prompt_cache_breakpoint }] },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'hi', prompt_cache_breakpoint },
            { type: 'input_file', file_id: 'file-1', prompt_cache_breakpoint },
            { type: 'input_image', image_url: 'https://images.test/a.png', detail: 'low' },
          ],
        },
      ],
    });
  });

  it('reaches the model with its tools, their choice, the format and the system prompt', async () => {
    const parameters = { type: 'object', properties: { a: { type: 'string', pattern: '^x' } } };
    const schema = { type: 'object', properties: { n: { type: 'integer', minimum: 1 } } };
    const body = await sent({
      messages: [
        { role: 'system', content: 'Be terse.' },
        { role: 'user', content: 'hi' },
      ],
      tools: [{ type: 'function', function: { name: 'f', parameters, strict: true } }],
      tool_choice: { type: 'function', function: { name: 'f' } },
      parallel_tool_calls: false,
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema, strict: true } },
      verbosity: 'low',
    });
    expect(body).toMatchObject({
      tools: [{ type: 'function', name: 'f', parameters, strict: true }],
      tool_choice: { type: 'function', name: 'f' },
      parallel_tool_calls: false,
      text: { format: { type: 'json_schema', name: 'n', schema, strict: true }, verbosity: 'low' },
      input: [{ role: 'system' }, { role: 'user' }],
    });
  });

  it('has one cache key over ten turns, without a hint from the client', async () => {
    const messages: JsonObject[] = [
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: 'Turn 0' },
    ];
    const keys = new Set<unknown>();
    for (let turn = 1; turn <= 10; turn += 1) {
      keys.add((await sent({ messages }))['prompt_cache_key']);
      keys.add(proxy.model.requests.at(-1)?.headers['session-id']);
      messages.push(
        { role: 'assistant', content: `Answer ${turn}` },
        { role: 'user', content: `Turn ${turn}` },
      );
    }
    expect(keys.size).toBe(1);
    const other = [{ role: 'system', content: 'Be quick.' }, ...messages.slice(1)];
    expect(keys.has((await sent({ messages: other }))['prompt_cache_key'])).toBe(false);
  });
});

describe('a chat answer', () => {
  const streamed = async (body: Record<string, unknown> = {}): Promise<readonly JsonObject[]> => {
    const response = await proxy.post(PATH, { ...ASK, ...body, stream: true });
    expect(response.status).toBe(200);
    return eventsOf(await collectSse(response)).flatMap((chunk) => chunk['choices'] as readonly JsonObject[]);
  };
  const whole = async (body: Record<string, unknown> = {}): Promise<JsonObject> => {
    const response = await proxy.post(PATH, { ...ASK, ...body });
    const { choices } = (await response.json()) as { choices: readonly JsonObject[] };
    return choices[0] ?? {};
  };

  it('has the refusal', async () => {
    proxy.use(says([{ refusal: 'I will not.' }]));
    expect(await whole()).toMatchObject({ message: { content: null, refusal: 'I will not.' } });
    const refusals = (await streamed()).map((choice) => (choice['delta'] as JsonObject)['refusal'] ?? '');
    expect(refusals.map(String).join('')).toBe('I will not.');
  });

  it('has log probabilities with the text that they belong to', async () => {
    proxy.use(sureOfItself);
    const asked = { logprobs: true };
    const logprobs = { content: LOGPROBS };
    expect(await whole(asked)).toMatchObject({ message: { content: 'Yes' }, logprobs });
    const chunks = await streamed(asked);
    expect(chunks.filter((choice) => choice['logprobs'] !== null)).toMatchObject([
      { delta: { content: 'Yes' }, logprobs },
    ]);
  });

  it.each([true, false])('is an error if they are missing (stream: %s)', async (stream) => {
    proxy.use(hello);
    const response = await proxy.post(PATH, { ...ASK, logprobs: true, stream });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: 'unsupported_parameter', param: 'logprobs' } },
    ]);
    // A call has no text.
    proxy.use(says([{ call: { name: 'f', arguments: '{}', callId: 'c1' } }]));
    const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];
    expect((await proxy.post(PATH, { ...ASK, tools, logprobs: true, stream })).status).toBe(200);
  });

  it('reports why it is incomplete', async () => {
    for (const [reason, finish] of [
      ['max_output_tokens', 'length'],
      ['content_filter', 'content_filter'],
    ] as const) {
      proxy.use(says([{ text: 'So far', end: 'incomplete' }, { incomplete: reason }]));
      expect(await whole()).toMatchObject({ message: { content: 'So far' }, finish_reason: finish });
      expect((await streamed()).at(-1)).toMatchObject({ finish_reason: finish });
    }
  });

  it('has arguments in the pieces in which they were written', async () => {
    const deltas = ['{"a":', '"one"', '}'];
    proxy.use(says([{ call: { name: 'f', arguments: deltas.join(''), callId: 'c1' }, deltas, delayMs: 10 }]));
    const tools = [
      { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } },
    ];
    const pieces = (await streamed({ tools }))
      .flatMap((choice) => ((choice['delta'] as JsonObject)['tool_calls'] ?? []) as readonly JsonObject[])
      .map((call) => (call['function'] as JsonObject)['arguments'])
      .filter((piece) => piece !== '' && piece !== undefined);
    expect(pieces).toEqual(deltas);
  });

  it("that is an error has the backend's message and headers", async () => {
    proxy.use((_request, connection) =>
      connection.reply(
        429,
        { error: { message: 'Slow down.', code: 'rate_limit_exceeded' } },
        { 'retry-after': '7', 'x-request-id': 'req_up_3', 'x-ratelimit-remaining-requests': '0' },
      ),
    );
    for (const stream of [true, false]) {
      const response = await proxy.post(PATH, { ...ASK, stream });
      expect([response.status, await response.json()]).toMatchObject([
        429,
        { error: { message: 'Slow down.', code: 'rate_limit_exceeded' } },
      ]);
      expect(response.headers.get('retry-after')).toBe('7');
      expect(response.headers.get('x-upstream-request-id')).toBe('req_up_3');
      expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    }
  });
});
