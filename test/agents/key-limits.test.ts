import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { APIError } from 'openai';
import { afterAll, describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import type { ScriptStep } from '../../src/demo/script-step.ts';
import { hasSandbox } from '../support/agent-workers.ts';
import { mcpFiles } from '../support/mcp/config-file.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { until } from '../support/until.ts';

/** What named keys are held to, in each of the three ways to run codex in a workspace: real app-server, scripted model. */

const NEEDS_SANDBOX = { meta: { needs: 'user namespaces, for the sandbox of codex' } };
const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'key-limits-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const proxy = await openProxy(hello, {
  PROXY_MCP_CONFIG: mcpFiles().write({ demo: { workspace: folder } }),
});
const clients: Client[] = [];
afterAll(async () => {
  for (const client of clients) await client.close();
});

const usage = {
  inputTokens: 6_000,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 1_000,
  reasoningTokens: 0,
  totalTokens: 7_000,
};
const command = (callId: string): ScriptStep => ({
  call: { name: 'exec_command', arguments: { cmd: 'echo x' }, callId },
});
/** So many commands, and an answer. */
const commands = (count: number): Script => {
  const [first, ...rest] = Array.from({ length: count }, (_, nth) =>
    says([command(`call_${nth}`)], { usage }),
  );
  return inTurn(first!, ...rest, says([{ text: 'Done.' }], { usage }));
};

const keyWith = async (fields: object) => {
  const made = await proxy.post('/v1/codex/keys', { name: 'limited', workspaces: ['demo'], ...fields });
  const { id, key } = (await made.json()) as { readonly id: string; readonly key: string };
  return { id, key, openai: proxy.openai.withOptions({ apiKey: key }) };
};
type Key = Awaited<ReturnType<typeof keyWith>>;

/** How many tokens count. */
const usedBy = async ({ id }: Key): Promise<number | undefined> => {
  const answer = await proxy.get(`/v1/codex/keys/${id}/limits`);
  return ((await answer.json()) as { readonly data: readonly { readonly used: number }[] }).data[0]?.used;
};

/** The error of a run; null: it was completed. */
type Ran = string | null;
interface Asked {
  readonly model?: string;
  readonly effort?: 'low' | 'high';
}

const codeOf = (error: unknown): string => (error instanceof APIError ? String(error.code) : String(error));

const bySession = async ({ openai }: Key, { model = 'gpt-5.5', effort }: Asked): Promise<Ran> => {
  const { sessions } = openai.beta.agents;
  try {
    const { id } = await sessions.create({
      environment: { type: 'self_hosted', workspace_directory: 'demo' },
      agent: { model, ...(effort === undefined ? {} : { reasoning: { effort } }) },
      input: 'Work',
    });
    await until(async () => (await sessions.retrieve(id)).status === 'idle');
    const [turn] = (await sessions.turns.list(id)).data;
    return turn?.error?.code ?? null;
  } catch (error) {
    return codeOf(error);
  }
};

const byResponse = async ({ openai }: Key, { model = 'gpt-5.5', effort }: Asked): Promise<Ran> => {
  try {
    const { error } = await openai.responses.create({
      model,
      input: 'Work',
      tools: [{ type: 'mcp', server_label: 'demo', require_approval: 'never' }],
      ...(effort === undefined ? {} : { reasoning: { effort } }),
    });
    return error?.code ?? null;
  } catch (error) {
    return codeOf(error);
  }
};

/** Its clients choose no effort. */
const byMcp = async ({ key }: Key, { model = 'gpt-5.5' }: Asked): Promise<Ran> => {
  const client = new Client({ name: 'test', version: '1' });
  clients.push(client);
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${proxy.url}/mcp`), { requestInit }));
  const result = await client.callTool({ name: 'codex', arguments: { prompt: 'Work', model } });
  return result.isError === true ? JSON.stringify(result.content) : null;
};

const VIEWS = [
  {
    view: 'the Agents API',
    run: bySession,
    spent: 'usage_limit_exceeded',
    model: 'model_not_found',
    effort: 'invalid_request',
  },
  {
    view: 'the Responses API',
    run: byResponse,
    spent: 'key_limit_exceeded',
    model: 'model_not_found',
    effort: 'unsupported_value',
  },
  {
    view: '/mcp',
    run: byMcp,
    spent: 'reached its limit of 20000 tokens per day',
    model: 'does not exist',
    effort: null,
  },
] as const;

describe.skipIf(!hasSandbox)('a key', NEEDS_SANDBOX, () => {
  it.each(VIEWS)('whose tokens run out in the middle of a turn, by $view', async ({ run, spent }) => {
    const key = await keyWith({ limits: [{ unit: 'tokens', window: 'day', max: 20_000 }] });
    const asked: unknown[] = [];
    const script = commands(9);
    proxy.use((request, connection) => {
      asked.push(request);
      return script(request, connection);
    });
    expect(await run(key, {})).toContain(spent);
    expect(asked).toHaveLength(3);
    await expect.poll(() => usedBy(key)).toBe(21_000);
    expect(await run(key, {})).toContain(spent);
    expect(asked).toHaveLength(3);
    await expect.poll(() => usedBy(key)).toBe(21_000);
  });

  it.each(VIEWS)('has its models and its effort by $view', async ({ run, model, effort }) => {
    const key = await keyWith({ models: ['gpt-5.5'], effort: 'low' });
    const asked: unknown[] = [];
    const script = commands(1);
    proxy.use((request, connection) => {
      asked.push([request.body['model'], request.body['reasoning']]);
      return script(request, connection);
    });
    expect(await run(key, { model: 'gpt-5.4-mini' })).toContain(model);
    if (effort !== null) expect(await run(key, { effort: 'high' })).toBe(effort);
    expect(asked).toEqual([]);
    expect(await run(key, {})).toBe(null);
    // The default of the model is higher.
    const lowered = ['gpt-5.5', expect.objectContaining({ effort: 'low' })];
    expect(asked).toEqual([lowered, lowered]);
  });
});
