import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import type { ScriptStep } from '../../src/demo/script-step.ts';
import { openProxy } from '../support/open-proxy.ts';
import type { TestProxy } from '../support/proxy.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { sentItems } from './responses-sent.ts';

/** Calls of undeclared tools, including codex's own: they are never run, and clients do not see them. */

const PROXIES = {
  'with the relay': await openProxy(hello),
  'without the relay': await openProxy(hello, { PROXY_WIRE: 'off' }),
};

const MODEL = 'gpt-5.5';
const TOOL = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } };
const CHAT_TOOL = { type: 'function', function: { name: 'look', parameters: TOOL.parameters } };

/** Exists if anything was run. */
const WITNESS = path.join(tmpdir(), `undeclared-${process.pid}`);
const TOUCH = ['touch', WITNESS];
const PATCH = `*** Begin Patch\n*** Add File: ${WITNESS}\n+x\n*** End Patch`;

const called = (name: string, given: JsonObject, more: JsonObject = {}): ScriptStep => ({
  item: {
    type: 'function_call',
    id: `fc_${name}`,
    call_id: `call_${name}`,
    name,
    arguments: JSON.stringify(given),
    ...more,
  },
});
const custom = (name: string, input: string): ScriptStep => ({
  item: { type: 'custom_tool_call', id: `ctc_${name}`, call_id: `call_c_${name}`, name, input },
});

/** All names and types of codex's own tools, in two answers: a turn allows sixteen. */
const SHELLS: readonly ScriptStep[] = [
  called('shell', { command: TOUCH }),
  called('local_shell', { command: TOUCH }),
  called('shell_command', { command: TOUCH.join(' ') }),
  called('exec_command', { cmd: TOUCH.join(' ') }),
  called('write_stdin', { session_id: 1, chars: 'x' }),
  called('exec', { command: TOUCH }),
  called('apply_patch', { input: PATCH }),
  called('container.exec', { cmd: TOUCH }),
  custom('apply_patch', PATCH),
  custom('exec', `require('fs').writeFileSync(${JSON.stringify(WITNESS)}, '')`),
  custom('no_such_tool', 'x'),
  {
    item: {
      type: 'local_shell_call',
      id: 'lsh_1',
      call_id: 'call_lsh',
      status: 'completed',
      action: { type: 'exec', command: TOUCH, env: {} },
    },
  },
];
const OTHERS: readonly ScriptStep[] = [
  called('update_plan', { plan: [] }),
  called('view_image', { path: WITNESS }),
  called('request_user_input', { questions: [] }),
  called('spawn_agent', { message: 'x' }),
  called('list_mcp_resources', {}),
  called('list_mcp_resource_templates', {}),
  called('read_mcp_resource', { server: 'x', uri: 'y' }),
  called('add', { a: 1 }, { namespace: 'mcp__tiny' }),
  called('mcp__tiny__add', { a: 1 }),
  called('web_search', { query: 'x' }),
  called('tool_search', { query: 'x' }),
  called('no_such_tool', {}),
  {
    item: {
      type: 'tool_search_call',
      id: 'tsc_1',
      call_id: 'call_tsc',
      status: 'completed',
      execution: 'client',
      arguments: { query: 'x' },
    },
  },
];

interface Got {
  readonly text: string;
  readonly calls: readonly unknown[];
  readonly status: number;
}

const ASKS: Readonly<Record<string, (proxy: TestProxy) => Promise<Got>>> = {
  'Responses, JSON': (proxy) => ask(proxy, '/v1/responses', false),
  'Responses, stream': (proxy) => ask(proxy, '/v1/responses', true),
  'Chat, JSON': (proxy) => ask(proxy, '/v1/chat/completions', false),
  'Chat, stream': (proxy) => ask(proxy, '/v1/chat/completions', true),
};

const ask = async (proxy: TestProxy, at: string, stream: boolean): Promise<Got> => {
  const body =
    at === '/v1/responses'
      ? { model: MODEL, stream, input: 'Go.', tools: [TOOL] }
      : { model: MODEL, stream, messages: [{ role: 'user', content: 'Go.' }], tools: [CHAT_TOOL] };
  const response = await proxy.post(at, body);
  const text = await response.text();
  // No frame or field of the answer names them, in any API.
  const calls = [...new Set(text.match(/call_\w+(?=")/g))].filter((id) => id !== 'call_id');
  const said = /Then without\.|The model keeps calling|The model called/.exec(text);
  return { status: response.status, text: said?.[0] ?? '', calls };
};

const undeclared = async (proxy: TestProxy): Promise<number> => {
  const page = await (await proxy.get('/metrics')).text();
  return Number(/^proxy_upstream_oddities_total\{oddity="undeclared-call"\} (\d+)$/mu.exec(page)?.[1] ?? 0);
};

afterEach(() => expect(existsSync(WITNESS)).toBe(false));

describe.each(Object.entries(PROXIES))('undeclared calls, %s', (_, proxy) => {
  it.each(Object.entries(ASKS))('are answered inside the turn and counted (%s)', async (_name, send) => {
    for (const steps of [SHELLS, OTHERS]) {
      proxy.use(inTurn(says(steps), says([{ text: 'Then without.', chunkSize: 100 }])));
      const before = await undeclared(proxy);
      expect(await send(proxy)).toEqual({ status: 200, text: 'Then without.', calls: [] });
      expect(await undeclared(proxy)).toBe(before + steps.length);
      const outputs = sentItems(proxy.model).flatMap((item) => ('output' in item ? [item['output']] : []));
      expect(outputs.filter((output) => !/unsupported|aborted/i.test(JSON.stringify(output)))).toEqual([]);
    }
  });

  it.each(Object.entries(ASKS))(
    'stay out of an answer that calls declared ones too (%s)',
    async (_name, send) => {
      const look = (callId: string): ScriptStep => ({ call: { name: 'look', arguments: {}, callId } });
      proxy.use(says([look('call_one'), ...SHELLS.slice(0, 3), look('call_two'), ...OTHERS.slice(-2)]));
      const before = proxy.model.requests.length;
      expect((await send(proxy)).calls).toEqual(['call_one', 'call_two']);
      expect(proxy.model.requests.length - before).toBe(1);
    },
  );

  it('fail the turn if codex does not answer them', async () => {
    proxy.use(inTurn(says(SHELLS.slice(-1)), hello));
    expect(await ask(proxy, '/v1/responses', false)).toEqual({
      status: 502,
      text: 'The model called',
      calls: [],
    });
  });

  it('end the turn if they never stop', async () => {
    proxy.use(says([called('no_such_tool', {})]));
    const before = proxy.model.requests.length;
    for (const name of ['Responses, stream', 'Chat, JSON']) {
      expect([name, await ASKS[name]?.(proxy)]).toEqual([
        name,
        { status: 502, text: 'The model keeps calling', calls: [] },
      ]);
    }
    const asked = proxy.model.requests.length - before;
    // The model may be called a few more times before a turn is interrupted.
    expect([asked >= 2 * 17, asked <= 2 * 25]).toEqual([true, true]);
  });
});
