import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import type { ScriptStep } from '../../src/demo/script-step.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { mcpFiles } from '../support/mcp/config-file.ts';
import { startHttpMcp } from '../support/mcp/http-server.ts';
import { openProxy } from '../support/open-proxy.ts';
import type { TestProxy } from '../support/proxy.ts';
import { runs } from '../support/runs.ts';
import {
  cutMidStream,
  failed,
  hello,
  http400,
  http500,
  inTurn,
  noOutput,
  says,
  toolCall,
} from '../support/scripts.ts';
import { until } from '../support/until.ts';

/** One client request must not cause an unlimited number of model requests. */

const LIMIT = 6;
const files = mcpFiles();
const web = await startHttpMcp();
afterAll(() => web.close());
const env = {
  PROXY_MAX_MODEL_REQUESTS: String(LIMIT),
  PROXY_TOOL_REPAIR_ATTEMPTS: '3',
  PROXY_TOOL_REPAIR_STREAMS: 'true',
  PROXY_MCP_CONFIG: files.write({ web: { url: web.url, require_approval: 'never' } }),
};
const proxy = await openProxy(hello, env);

let count = 0;
/** A call of an MCP tool, with new arguments each time. */
const mcpCall = (): ScriptStep => {
  count += 1;
  return {
    call: { name: 'add', namespace: 'mcp__web', arguments: '{"a":2,"b":3}', callId: `call_${count}` },
  };
};
const callsForEver: Script = (request, connection) => says([mcpCall()])(request, connection);

const WEB: JsonObject = { type: 'mcp', server_label: 'web' };
const STRICT: JsonObject = {
  type: 'function',
  name: 'look',
  strict: true,
  parameters: {
    type: 'object',
    properties: { at: { type: 'string' } },
    required: ['at'],
    additionalProperties: false,
  },
};

/** Answers with these steps and counts the model requests: the server keeps only the newest. */
const counting = (on: TestProxy, script: Script): { requests: number } => {
  const counted = { requests: 0 };
  on.use((request, connection) => {
    counted.requests += 1;
    return script(request, connection);
  });
  return counted;
};

/** An answer, and the number of model requests. */
const costOf = async (on: TestProxy, script: Script, path: string, body: JsonObject) => {
  const counted = counting(on, script);
  const response = await on.post(path, { model: 'gpt-5.5', ...body });
  const text = await response.text();
  return { status: response.status, text, requests: counted.requests };
};
const natural = { headers: { 'x-proxy-output-layout': 'natural' } };
const counted = async (): Promise<number> => {
  const page = await (await proxy.get('/metrics')).text();
  return Number(/^proxy_model_request_limits_total (\d+)$/m.exec(page)?.[1] ?? 0);
};

describe('a model that calls MCP tools forever', () => {
  it('is called up to the limit, and its output is kept', async () => {
    const cost = counting(proxy, callsForEver);
    const limits = await counted();
    const response = await proxy.openai.responses.create(
      { model: 'gpt-5.5', input: 'Add.', tools: [WEB as never] },
      natural,
    );
    expect(cost.requests).toBe(LIMIT);
    expect([response.status, response.incomplete_details]).toEqual([
      'incomplete',
      { reason: 'max_model_requests' },
    ]);
    const calls = response.output.filter(({ type }) => type === 'mcp_call');
    expect(calls.map((call) => (call.type === 'mcp_call' ? call.output : null))).toEqual(
      Array.from({ length: LIMIT }, () => '5'),
    );
    expect(await counted()).toBe(limits + 1);
    expect(proxy.log.find(({ msg }) => msg === 'model request limit reached')).toMatchObject({
      limit: LIMIT,
      requestId: expect.any(String),
    });
  });

  it('ends the same way in a stream', async () => {
    proxy.use(callsForEver);
    const events = await Array.fromAsync(
      await proxy.openai.responses.create({
        model: 'gpt-5.5',
        input: 'Add.',
        tools: [WEB as never],
        stream: true,
      }),
    );
    expect(events.at(-1)).toMatchObject({
      type: 'response.incomplete',
      response: { incomplete_details: { reason: 'max_model_requests' } },
    });
  });

  it('makes fewer calls if the client limits them, and no other call is run', async () => {
    // A call can come only while there is a session.
    const sessionsEnd = () => until(() => web.sessions() === 0);
    const asked = async (script: Script) => {
      const cost = counting(proxy, script);
      await sessionsEnd();
      const before = web.messages.length;
      const response = await proxy.openai.responses.create(
        { model: 'gpt-5.5', input: 'Add.', tools: [WEB as never], max_tool_calls: 2 },
        natural,
      );
      await sessionsEnd();
      const calls = web.messages.slice(before).filter((method) => method === 'tools/call');
      return { response, requests: cost.requests, calls: calls.length };
    };
    const usual = await asked(inTurn(callsForEver, callsForEver, hello));
    const { response, requests, calls } = await asked(callsForEver);
    expect([usual.response.status, usual.requests, usual.calls]).toEqual(['completed', 3, 2]);
    expect([response.status, response.incomplete_details, requests, calls]).toEqual([
      'incomplete',
      { reason: 'max_tool_calls' },
      3,
      2,
    ]);
    expect(response.output.filter(({ type }) => type === 'mcp_call')).toHaveLength(2);
  });

  it('is stopped without the relay, too', async () => {
    const direct = await openDirect();
    const ended = Promise.withResolvers<void>();
    let requests = 0;
    // The app-server may have sent one more by then. That one waits, however busy the machine is.
    const script: Script = (request, connection) => {
      requests += 1;
      return requests > LIMIT
        ? says([{ wait: ended.promise }])(request, connection)
        : callsForEver(request, connection);
    };
    const { status, text } = await costOf(direct, script, '/v1/responses', { input: 'Add.', tools: [WEB] });
    ended.resolve();
    expect([status, requests <= LIMIT + 1, JSON.parse(text)]).toMatchObject([
      200,
      true,
      { status: 'incomplete', incomplete_details: { reason: 'max_model_requests' } },
    ]);
  });
});

const openDirect = () => openProxy(hello, { ...env, PROXY_WIRE: 'off' });

describe('a model that never gives a valid answer', () => {
  it('fails with the limit if it has produced nothing', async () => {
    const script = toolCall('nobody_declared_this');
    const { status, text, requests } = await costOf(proxy, script, '/v1/responses', { input: 'Hi.' });
    expect([status, requests, JSON.parse(text)]).toEqual([
      400,
      LIMIT,
      {
        error: {
          message: `This answer reached the limit of ${LIMIT} model requests (PROXY_MAX_MODEL_REQUESTS) and is still incomplete.`,
          type: 'invalid_request_error',
          param: null,
          code: 'model_request_limit_exceeded',
        },
      },
    ]);
  });

  it('keeps its own error if only a retry was prevented', async () => {
    const strict = await openProxy(hello, { ...env, PROXY_MAX_MODEL_REQUESTS: '1' });
    const { status, text, requests } = await costOf(strict, http500, '/v1/responses', { input: 'Hi.' });
    expect([status, requests, JSON.parse(text)]).toMatchObject([
      502,
      1,
      { error: { code: 'upstream_error' } },
    ]);
  });

  const scripts: Readonly<Record<string, Script>> = {
    hello,
    undeclared: toolCall('nobody_declared_this'),
    mcp: callsForEver,
    invalid: toolCall('look', { at: 7 }),
    both: says([{ text: 'Let me look.' }, { call: { name: 'nobody_declared_this', arguments: {} } }]),
    nothing: noOutput,
    broken: http500,
    cut: cutMidStream,
    failed: failed(),
    overloaded: failed('server_is_overloaded', 'Overloaded.'),
    'no field': http400("Unsupported parameter: 'temperature'.", 'temperature', 'unsupported_parameter'),
    'no instructions': http400('Instructions are required.', null, null),
    'no compaction': http400('Unknown item type: compaction_trigger.', null, null),
  };

  const WORST = { n: 3, stream: false, isForced: true, isStrict: true };

  it('costs no more than its budget per choice', { timeout: 120_000 }, async () => {
    const script = fc.array(fc.constantFrom(...Object.keys(scripts)), { minLength: 1, maxLength: 4 });
    const ask = fc.record({
      n: fc.integer({ min: 1, max: 3 }),
      stream: fc.boolean(),
      isForced: fc.boolean(),
      isStrict: fc.boolean(),
      kind: fc.constantFrom('chat', 'responses', 'mcp', 'compact'),
    });
    await fc.assert(
      fc.asyncProperty(script, ask, async (names, { n, stream, isForced, isStrict, kind }) => {
        let at = 0;
        const hostile: Script = (request, connection) => {
          const name = names[at % names.length] ?? 'hello';
          at += 1;
          return (scripts[name] ?? hello)(request, connection);
        };
        const forced = isForced ? { tool_choice: 'required' } : {};
        const { type: _, ...declared } = STRICT;
        const tools = isStrict || isForced;
        const { requests } =
          kind === 'chat'
            ? await costOf(proxy, hostile, '/v1/chat/completions', {
                messages: [{ role: 'user', content: 'Hi.' }],
                n,
                stream,
                temperature: 1,
                ...(tools ? { tools: [{ type: 'function', function: declared }], ...forced } : {}),
              })
            : await costOf(proxy, hostile, kind === 'compact' ? '/v1/responses/compact' : '/v1/responses', {
                input: 'Hi.',
                instructions: 'Be brief.',
                ...(kind === 'compact' ? {} : { stream, temperature: 1 }),
                ...(tools || kind === 'mcp'
                  ? { tools: [...(tools ? [STRICT] : []), ...(kind === 'mcp' ? [WEB] : [])], ...forced }
                  : {}),
              });
        expect(requests).toBeLessThanOrEqual(LIMIT * (kind === 'chat' ? n : 1));
      }),
      {
        numRuns: runs(12),
        examples: [
          [['undeclared', 'undeclared', 'invalid'], { ...WORST, kind: 'chat' }],
          [['invalid'], { ...WORST, kind: 'responses' }],
        ],
      },
    );
  });
});
