import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  byModel,
  cutMidStream,
  hang,
  hello,
  reasoningThenText,
  toolCall,
} from '../../test/support/scripts.ts';
import { demoScript } from './demo-script.ts';
import { startModelServer } from './model-server.ts';
import type { ModelServer, RecordedRequest } from './model-server.ts';

/**
 * The scripted model behind the real app-server: what the server writes must be what app-server
 * reads. The client below is the bare minimum, so that a mistake in ours cannot hide one here.
 */
const BINARY = join(
  createRequire(createRequire(import.meta.url).resolve('@openai/codex/package.json')).resolve(
    '@openai/codex-linux-x64/package.json',
  ),
  '../vendor/x86_64-unknown-linux-musl/bin/codex',
);

/** Without this the newer models wrap all tools in one of their own, and calls never reach us. */
const catalogue = (environment: NodeJS.ProcessEnv): string => {
  const known = JSON.parse(
    execFileSync(BINARY, ['debug', 'models', '--bundled'], {
      env: environment,
      maxBuffer: 16 * 1024 * 1024,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  );
  for (const model of known.models) {
    Object.assign(model, {
      tool_mode: 'direct',
      apply_patch_tool_type: null,
      experimental_supported_tools: [],
      supports_search_tool: false,
      multi_agent_version: null,
      shell_type: 'disabled',
      base_instructions: '',
      model_messages: null,
    });
  }
  return JSON.stringify(known);
};

const config = (baseUrl: string): string => `
model_provider = "scripted"
web_search = "disabled"
include_permissions_instructions = false
include_environment_context = false
check_for_update_on_startup = false
project_doc_max_bytes = 0
model_catalog_json = "${join(home, 'catalogue.json')}"
[model_providers.scripted]
name = "scripted"
base_url = "${baseUrl}"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
[skills]
include_instructions = false
bundled.enabled = false
[features]
shell_tool = false
unified_exec = false
multi_agent = false
apps = false
plugins = false
[analytics]
enabled = false
`;

interface Note {
  readonly id?: number;
  readonly method: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- the test reads a few fields of many shapes
  readonly params: any;
}

let server: ModelServer;
let recorded: RecordedRequest[] = [];
let codex: ChildProcessWithoutNullStreams;
let home: string;
let nextId = 0;
let notes: Note[] = [];
let thread = '';
const pending = new Map<number, (answer: Record<string, unknown>) => void>();
const watchers = new Set<() => void>();

// oxlint-disable-next-line typescript/no-explicit-any -- see Note
const call = async (method: string, params: object): Promise<any> => {
  nextId += 1;
  const id = nextId;
  const answered = new Promise<Record<string, unknown>>((resolve) => pending.set(id, resolve));
  codex.stdin.write(`${JSON.stringify({ id, method, params })}\n`);
  const answer = await answered;
  if (answer['error'] !== undefined) throw new Error(JSON.stringify(answer['error']));
  return answer['result'];
};

const noted = (method: string): Promise<Note> =>
  new Promise((resolve) => {
    const look = (): void => {
      const note = notes.find((one) => one.method === method);
      if (note === undefined) return;
      watchers.delete(look);
      resolve(note);
    };
    watchers.add(look);
    look();
  });

const startTurn = async (
  model: string,
  text: string,
  settings: object = {},
  turn: object = {},
): Promise<string> => {
  const started = await call('thread/start', {
    model,
    cwd: home,
    environments: [],
    ephemeral: true,
    experimentalRawEvents: true,
    approvalPolicy: 'never',
    sandbox: 'read-only',
    baseInstructions: '',
    ...settings,
  });
  const threadId: string = started.thread.id;
  thread = threadId;
  notes = [];
  recorded = [];
  const items = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }];
  await call('thread/inject_items', { threadId, items });
  await call('turn/start', { threadId, input: [], summary: 'none', ...turn });
  return threadId;
};

const deltas = (method = 'item/agentMessage/delta'): string =>
  notes
    .filter((note) => note.method === method)
    .map((note) => note.params.delta)
    .join('');

const INPUT_ROLES = new Set(['user', 'developer']);

/** What the model put out, without what app-server adds and without the echo of the input. */
const rawItems = (): unknown[] =>
  notes
    .filter((note) => note.method === 'rawResponseItem/completed' && !INPUT_ROLES.has(note.params.item.role))
    .map(({ params }) => {
      const { internal_chat_message_metadata_passthrough: _added, ...item } = params.item;
      return item;
    });

beforeAll(async () => {
  server = await startModelServer({
    record: (request) => recorded.push(request),
    script: byModel(
      {
        's-hello': hello,
        's-call': toolCall(),
        's-reasoning': reasoningThenText,
        's-cut': cutMidStream,
        's-hang': hang,
      },
      demoScript({ deltaDelayMs: 0, howToSignIn: 'Sign in.' }),
    ),
  });
  home = mkdtempSync(join(tmpdir(), 'demo-codex-'));
  const env = { PATH: process.env['PATH'], HOME: home, CODEX_HOME: home };
  writeFileSync(join(home, 'catalogue.json'), catalogue(env));
  writeFileSync(join(home, 'config.toml'), config(server.baseUrl));
  codex = spawn(BINARY, ['app-server'], { env });
  codex.stderr.resume();
  createInterface({ input: codex.stdout }).on('line', (line) => {
    const message = JSON.parse(line);
    if (message.method === undefined) pending.get(message.id)?.(message);
    // A turn that an earlier test interrupted may still have something to say.
    else if (message.params?.threadId === thread) notes.push(message);
    for (const look of watchers) look();
  });
  await call('initialize', {
    clientInfo: { name: 'test', title: 'test', version: '1' },
    capabilities: { experimentalApi: true, requestAttestation: false },
  });
  codex.stdin.write('{"method":"initialized"}\n');
});

afterAll(async () => {
  const exited = new Promise((resolve) => codex.once('exit', resolve));
  codex.kill('SIGKILL');
  await exited;
  await server.close();
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
});

describe('through the real app-server', () => {
  it('text and usage arrive', async () => {
    await startTurn('s-hello', 'hi');
    const end = await noted('turn/completed');
    const response = notes.find((note) => note.method === 'rawResponse/completed');
    const [item] = rawItems();
    expect({ text: deltas(), item, usage: response?.params.usage, status: end.params.turn.status }).toEqual({
      text: 'Hello from the scripted model.',
      item: {
        type: 'message',
        id: expect.stringMatching(/^msg_[0-9a-f]{32}$/u),
        role: 'assistant',
        status: 'completed',
        content: [
          { type: 'output_text', text: 'Hello from the scripted model.', annotations: [], logprobs: [] },
        ],
      },
      usage: {
        inputTokens: 11,
        cachedInputTokens: 3,
        cacheWriteInputTokens: 2,
        outputTokens: 7,
        reasoningOutputTokens: 1,
        totalTokens: 18,
      },
      status: 'completed',
    });
    expect(await recorded[0]?.ended).toBe('finished');
  });

  it('a tool call arrives', async () => {
    const tool = { type: 'function', name: 'get_weather', description: 'd', inputSchema: { type: 'object' } };
    const threadId = await startTurn('s-call', 'weather?', { dynamicTools: [tool] });
    const asked = await noted('item/tool/call');
    await noted('rawResponse/completed');
    expect({ items: rawItems(), tool: asked.params.tool, args: asked.params.arguments }).toEqual({
      items: [
        {
          type: 'function_call',
          id: expect.stringMatching(/^fc_[0-9a-f]{32}$/u),
          call_id: 'call_weather',
          name: 'get_weather',
          status: 'completed',
          arguments: '{"city":"Paris"}',
        },
      ],
      tool: 'get_weather',
      args: { city: 'Paris' },
    });
    await call('turn/interrupt', { threadId, turnId: asked.params.turnId });
  });

  it('reasoning arrives', async () => {
    await startTurn('s-reasoning', 'hi', {}, { summary: 'auto' });
    await noted('turn/completed');
    expect({
      summary: deltas('item/reasoning/summaryTextDelta'),
      text: deltas(),
      item: rawItems()[0],
    }).toEqual({
      summary: '**Looking**\n\nAt the question.**Deciding**\n\nOn the answer.',
      text: 'The answer is 42.',
      item: {
        type: 'reasoning',
        id: expect.stringMatching(/^rs_[0-9a-f]{32}$/u),
        summary: [
          { type: 'summary_text', text: '**Looking**\n\nAt the question.' },
          { type: 'summary_text', text: '**Deciding**\n\nOn the answer.' },
        ],
        content: null,
        encrypted_content: 'opaque-reasoning',
      },
    });
  });

  it('a cut fails the turn, after the text that came', async () => {
    await startTurn('s-cut', 'hi');
    const end = await noted('turn/completed');
    expect({
      text: deltas(),
      status: end.params.turn.status,
      message: end.params.turn.error.message,
    }).toEqual({
      text: 'This sentence will never',
      status: 'failed',
      message: expect.stringContaining('stream disconnected before completion'),
    });
    expect(await recorded[0]?.ended).toBe('cut');
  });

  it('an interrupted turn closes the request', async () => {
    const threadId = await startTurn('s-hang', 'hi');
    const { params } = await noted('turn/started');
    while (recorded.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await call('turn/interrupt', { threadId, turnId: params.turn.id });
    const end = await noted('turn/completed');
    expect([end.params.turn.status, await recorded[0]?.ended]).toEqual(['interrupted', 'aborted']);
  });

  it('the demo model answers, and fills a schema', async () => {
    await startTurn('demo', 'How are you?');
    await noted('turn/completed');
    const plain = deltas();
    const outputSchema = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    };
    await startTurn('demo', 'Where is Bergen?', {}, { outputSchema });
    await noted('turn/completed');
    expect([plain, deltas()]).toEqual([
      'Hello! I am the demo model of codex-app-server-proxy: everything works, only the thinking is missing. You wrote: “How are you?”. Sign in.',
      '{"city":"Bergen"}',
    ]);
  });

  it('the demo model calls a tool on a model of the newer kind', async () => {
    const tool = { type: 'function', name: 'get_weather', description: 'd', inputSchema: { type: 'object' } };
    const threadId = await startTurn('gpt-6.1-sol', 'The weather in Bergen?', { dynamicTools: [tool] });
    const asked = await noted('item/tool/call');
    expect(asked.params.tool).toBe('get_weather');
    await call('turn/interrupt', { threadId, turnId: asked.params.turnId });
  });
});
