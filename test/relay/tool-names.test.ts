import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { askAll, inAllWays } from '../support/four-ways.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello, says } from '../support/scripts.ts';

/** The names of codex's own tools, and similar ones. OpenAI allows all of these. */
const NAMES = [
  ...`mcp mcp__ mcp__server__tool mcp_ mcp-x MCP exec_command shell_command tool_mcp
  tool_exec_command write_stdin apply_patch update_plan view_image local_shell unified_exec
  spawn_agent send_input wait_agent close_agent resume_agent list_agents send_message
  followup_task interrupt_agent list_mcp_resources list_mcp_resource_templates read_mcp_resource
  web_search image_generation image_gen tool_search tool_suggest request_user_input
  test_sync_tool js_repl js_repl_reset request_permissions get_goal create_goal update_goal exec
  wait shell sleep multi_tool_use parallel read_file list_dir grep_files search_tool_bm25
  functions request_plugin_install curr_time get_context_remaining new_context web_run container
  file_search code_interpreter computer namespace custom function python browser`.split(/\s+/),
  `mcp__${'x'.repeat(59)}`,
];
/** As many as Chat allows. */
const ALL = [...NAMES, ...Array.from({ length: 128 - NAMES.length }, (_, index) => `own_${index}`)];

const tools = ALL.map((name): JsonObject => ({
  type: 'function',
  name,
  parameters: { type: 'object', properties: { n: { type: 'integer' } } },
}));
const input = (index: number): string => `{"n": ${index}}`;
const calls = says(
  ALL.map((name, index) => ({ call: { name, arguments: input(index), callId: `c${index}` } })),
);

const namesIn = (body: JsonObject): readonly string[] =>
  ((body['tools'] ?? []) as readonly { readonly name: string }[]).map(({ name }) => name);

describe.each([
  ['with the relay', {}],
  ['without the relay', { PROXY_WIRE: 'off' }],
])('names that codex itself uses, %s', async (_, env) => {
  const proxy = await openProxy(hello, env);
  const isMapped = 'PROXY_WIRE' in env;
  /** The names under which the model knows the tools. */
  const known = (): readonly string[] => namesIn(proxy.model.requests.at(-1)?.body ?? {});

  it('reach the model, and their calls the client', async () => {
    proxy.use((request, connection) => {
      const names = namesIn(request.body);
      return (
        isMapped
          ? says(
              names.map((name, index) => ({ call: { name, arguments: input(index), callId: `c${index}` } })),
            )
          : calls
      )(request, connection);
    });
    expect(await askAll(proxy, { tools })).toEqual(
      inAllWays({ calls: ALL.map((name, index) => ['function', name, input(index)] as const) }),
    );
    expect(new Set(known()).size).toBe(128);
    const mapped = ALL.filter((name, index) => known()[index] !== name);
    expect(mapped).toEqual(
      isMapped ? ALL.filter((name) => /^(?:mcp|mcp__.*|exec_command|shell_command)$/.test(name)) : [],
    );
  });

  it('are the same in a conversation that is sent back', async () => {
    proxy.use(hello);
    const answer = await proxy.post('/v1/responses', {
      model: 'gpt-5.5',
      tools,
      input: [
        { role: 'user', content: 'hi' },
        ...ALL.flatMap((name, index) => [
          { type: 'function_call', call_id: `c${index}`, name, arguments: input(index) },
          { type: 'function_call_output', call_id: `c${index}`, output: 'done' },
        ]),
      ],
    });
    expect(answer.status).toBe(200);
    await answer.text();
    const sent = proxy.model.requests.at(-1)?.body['input'] as readonly JsonObject[];
    const called = sent.filter(({ type }) => type === 'function_call');
    expect(called.map(({ name, arguments: written }) => [name, written])).toEqual(
      known().map((name, index) => [name, input(index)]),
    );
  });
});
