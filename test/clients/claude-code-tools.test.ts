import { writeFile } from 'node:fs/promises';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { CLAUDE, HAS_CLAUDE } from '../support/claude-code.ts';
import { stdioEntry } from '../support/mcp/stdio-server.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { call, claudeRooms, expectGrowing, watch, workIn } from './claude-session.ts';
import { FOUND, searches, SOURCE } from './hosted.ts';

/** The real Claude Code with tools that it loads late, and what it asks besides messages. */

// As OpenAI does, the backend takes tools that load late in the middle of the conversation.
const proxy = await openProxy(hello, { PROXY_UPSTREAM_PARAMS: 'all' });
const openRoom = claudeRooms(() => proxy);

const namesIn = (body: JsonObject | undefined): readonly unknown[] =>
  (Array.isArray(body?.['tools']) ? body['tools'] : []).map((tool) => (tool as JsonObject)['name']);

/** The routes of all requests since this was called, and their status. */
const watchRoutes = (): (() => readonly string[]) => {
  const before = proxy.log.length;
  return () =>
    proxy.log
      .slice(before)
      .filter(({ route }) => route !== undefined)
      .map(({ method, route, status }) => `${String(method)} ${String(route)} ${String(status)}`);
};

describe.skipIf(!HAS_CLAUDE)('Claude Code', { meta: { needs: CLAUDE } }, () => {
  it('loads a tool late, and searches the web with it', async () => {
    const room = await openRoom();
    const main = inTurn(
      says([call('call_1', 'ToolSearch', { query: 'select:WebSearch' })]),
      says([call('call_2', 'WebSearch', { query: 'weather in Paris' })]),
      says([{ text: 'Found.' }]),
    );
    const isSearch = ({ tools }: JsonObject): boolean => JSON.stringify(tools).includes('"web_search"');
    const sent = watch(proxy, (request, connection) =>
      (isSearch(request.body) ? searches : main)(request, connection),
    );
    const { code, result } = await room.ask('search the web');
    expect([code, result['result']]).toEqual([0, 'Found.']);
    const [first, second, search, third] = sent();
    expect(sent()).toHaveLength(4);
    expect(search?.['tools']).toMatchObject([{ type: 'web_search' }]);
    expectGrowing([first ?? {}, second ?? {}, third ?? {}]);
    // The model cannot call what it has not loaded.
    expect(namesIn(first)).not.toContain('WebSearch');
    expect(namesIn(first)).not.toContain('DeferredToolPlaceholder');
    expect(JSON.stringify(second?.['input'])).toContain('"name":"WebSearch"');
    const output = workIn(third).findLast(({ type }) => type === 'function_call_output');
    expect(output).toMatchObject({ call_id: 'call_2', output: expect.stringContaining(SOURCE) });
    expect(output).toMatchObject({ output: expect.stringContaining(FOUND) });
  });

  it('loads a tool of an MCP server, and calls it', async () => {
    const room = await openRoom();
    const config = path.join(room.work, 'mcp.json');
    await writeFile(config, JSON.stringify({ mcpServers: { shop: stdioEntry() } }));
    const sent = watch(
      proxy,
      inTurn(
        says([call('call_1', 'ToolSearch', { query: 'select:mcp__shop__add' })]),
        says([call('call_2', 'mcp__shop__add', { a: 2, b: 3 })]),
        says([{ text: 'Five.' }]),
      ),
    );
    const { code, result } = await room.ask(
      'add two and three',
      '--mcp-config',
      config,
      '--allowedTools',
      'mcp__shop__add',
    );
    expect([code, result['result']]).toEqual([0, 'Five.']);
    expectGrowing(sent());
    expect(workIn(sent()[2]).at(-1)).toMatchObject({ type: 'function_call_output', call_id: 'call_2' });
    expect(JSON.stringify(workIn(sent()[2]).at(-1)?.['output'])).toContain('5');
  });

  it('counts the tokens of its context without asking the model', async () => {
    const room = await openRoom();
    const sent = watch(proxy, hello);
    const routes = watchRoutes();
    const { code, result } = await room.ask('/context');
    expect([code, result['result']]).toEqual([0, expect.stringContaining('Context Usage')]);
    expect(sent()).toEqual([]);
    expect(routes().length).toBeGreaterThan(10);
    expect(new Set(routes())).toEqual(new Set(['POST /v1/messages/count_tokens 200']));
  });

  it('finds the models of this server', async () => {
    const room = await openRoom({ CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: '1' });
    watch(proxy, hello);
    const routes = watchRoutes();
    const { code, result } = await room.ask('hello', '--model', 'claude-demo');
    expect([code, result['result']]).toEqual([0, 'Hello from the scripted model.']);
    expect(routes()).toEqual(['GET /v1/models 200', 'POST /v1/messages 200']);
  });
});
