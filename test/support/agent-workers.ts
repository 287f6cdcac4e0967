import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

import type { Workspace } from '../../src/canonical/mcp/workspace.ts';
import { findCodexBinary } from '../../src/codex/binary.ts';
import { prepareHomes } from '../../src/codex/home/prepare-home.ts';
import {
  openAgentWorkers,
  type AgentPlace,
  type AgentWorkers,
  type AgentWorkersOptions,
} from '../../src/features/agents/run/workers.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { isKnownNotification } from '../../src/codex/protocol/methods.ts';

/** Commands of agents run in a sandbox, which not every container allows. */
export const hasSandbox =
  process.platform === 'linux' &&
  spawnSync('unshare', ['--user', '--map-root-user', '--pid', '--fork', 'true']).status === 0;

/** A model request of codex, as far as tests read it. */
export interface AgentModelRequest extends JsonObject {
  readonly input: readonly JsonObject[];
}

type Answer = readonly JsonObject[];

/** A model that answers with items of a script, in the place of the gateway. */
export class AgentModel {
  readonly requests: AgentModelRequest[] = [];
  /** What was asked by others than codex, as methods and paths. */
  readonly strangers: string[] = [];
  readonly #server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      if (incoming.method !== 'POST') {
        this.strangers.push(`${incoming.method ?? ''} ${incoming.url ?? ''}`);
        outgoing.writeHead(404).end();
        return;
      }
      this.requests.push(JSON.parse(Buffer.concat(chunks).toString()) as AgentModelRequest);
      outgoing
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(streamOf(this.#script.shift() ?? DONE));
    });
  });
  #script: Answer[] = [];

  async open(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The answers to the next requests; then it says that it has finished. */
  play(...answers: readonly Answer[]): void {
    this.#script = [...answers];
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

const DONE: Answer = [
  {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'done', annotations: [] }],
  },
];

const streamOf = (items: Answer): string => {
  const usage = {
    input_tokens: 1,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 1,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 2,
  };
  return [
    { type: 'response.created', response: { id: 'resp_1' } },
    ...items.flatMap((item, index) => [
      { type: 'response.output_item.added', output_index: index, item },
      { type: 'response.output_item.done', output_index: index, item },
    ]),
    { type: 'response.completed', response: { id: 'resp_1', output: items, usage } },
  ]
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');
};

export const command = (id: string, cmd: string, more: JsonObject = {}): JsonObject => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name: 'exec_command',
  arguments: JSON.stringify({ cmd, ...more }),
});

export const patch = (id: string, input: string): JsonObject => ({
  type: 'custom_tool_call',
  id: `ctc_${id}`,
  call_id: id,
  name: 'apply_patch',
  input,
});

/** A state folder, a workspace, a model and app-servers for agents. */
export interface AgentScene {
  readonly root: string;
  readonly stateDir: string;
  readonly workspace: Workspace;
  readonly model: AgentModel;
  readonly workers: AgentWorkers;
  /** Log lines of warnings and errors. */
  readonly troubles: unknown[];
  close(): Promise<void>;
}

export const workspaceAt = (folder: string, more: Partial<Workspace> = {}): Workspace => ({
  label: 'shop',
  path: folder,
  configuredPath: folder,
  access: 'write',
  network: 'none',
  read: [],
  write: [],
  hide: [],
  git: false,
  env: {},
  requireApproval: 'never',
  runs: 1,
  maxSeconds: 60,
  maxModelRequests: 20,
  callSeconds: 60,
  ...more,
});

export const openAgentScene = async (
  more: {
    readonly workspace?: (root: string) => Partial<Workspace> | Promise<Partial<Workspace>>;
    readonly options?: Partial<AgentWorkersOptions>;
    readonly environment?: Readonly<Record<string, string>>;
  } = {},
): Promise<AgentScene> => {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), 'agents-')));
  const stateDir = path.join(root, 'state');
  const folder = path.join(root, 'srv', 'shop');
  await mkdir(folder, { recursive: true });
  const model = await new AgentModel().open();
  const homes = await prepareHomes({
    stateDir,
    binary: findCodexBinary(),
    environment: { ...process.env, ...more.environment, CODEX_HOME: undefined },
  });
  const workspace = workspaceAt(folder, await more.workspace?.(root));
  const troubles: unknown[] = [];
  const trouble = (...line: readonly unknown[]): void => void troubles.push(line);
  const workers = await openAgentWorkers({
    homes,
    stateDir,
    secretPaths: [],
    workspaces: [workspace],
    gatewayUrl: `http://127.0.0.1:${model.port}/v1`,
    size: 1,
    hangTimeoutMs: 10_000,
    maxRssMb: 4096,
    maxHomeMb: 4096,
    maxThreads: 500,
    logger: { trace() {}, debug() {}, info() {}, warn: trouble, error: trouble, fatal: trouble },
    ...more.options,
  });
  return {
    root,
    stateDir,
    workspace,
    model,
    workers,
    troubles,
    async close() {
      await workers.drain(0);
      model.close();
      await rm(root, { recursive: true, force: true });
    },
  };
};

const never = new AbortController().signal;

export const openPlace = (
  { workers, workspace }: AgentScene,
  access: Workspace['access'] = workspace.access,
): Promise<AgentPlace> => workers.open({ workspace, access }, never);

/** The name of a run's folder. */
export const folderOf = ({ thread }: AgentPlace): string =>
  /agent-[0-9a-f]{16}/.exec(JSON.stringify(thread))?.[0] ?? 'none';

export interface StartedAgent {
  readonly threadId: string;
  readonly turnId: string;
  readonly ended: Promise<string>;
  /** The methods of notifications, as they arrive. */
  readonly heard: string[];
}

/** Starts a thread and a turn in it. */
export const startAgent = async ({ appServer, thread }: AgentPlace): Promise<StartedAgent> => {
  const started = await appServer.request('thread/start', { model: 'gpt-5.5', ...thread });
  const threadId = started.thread.id;
  const ended = Promise.withResolvers<string>();
  const heard: string[] = [];
  appServer.watchThread(threadId, (signal) => {
    if (signal.kind === 'closed') ended.resolve('closed');
    if (signal.kind !== 'notification') return;
    heard.push(signal.method);
    if (isKnownNotification(signal) && signal.method === 'turn/completed')
      ended.resolve(signal.params.turn.status);
  });
  const { turn } = await appServer.request('turn/start', {
    threadId,
    input: [{ type: 'text', text: 'Go.', text_elements: [] }],
  });
  return { threadId, turnId: turn.id, ended: ended.promise, heard };
};

/** Lets the model make these calls, and resolves to what it heard of them, by call id. */
export const runCalls = async (
  scene: AgentScene,
  calls: readonly JsonObject[],
  access?: Workspace['access'],
): Promise<Readonly<Record<string, string>>> => {
  const place = await openPlace(scene, access);
  const before = scene.model.requests.length;
  scene.model.play(calls);
  let agent: StartedAgent | null = null;
  try {
    agent = await startAgent(place);
    await agent.ended;
  } finally {
    await place.close(agent, 'ended');
  }
  const [, heard] = scene.model.requests.slice(before);
  return Object.fromEntries(
    (heard?.input ?? [])
      .filter(({ type }) => type === 'function_call_output' || type === 'custom_tool_call_output')
      .map(({ call_id: id, output }) => [
        id as string,
        typeof output === 'string' ? output : JSON.stringify(output),
      ]),
  );
};

/** As `runCalls`, for commands. */
export const runCommands = async (
  scene: AgentScene,
  commands: Readonly<Record<string, string>>,
  access?: Workspace['access'],
): Promise<Readonly<Record<string, string>>> =>
  runCalls(
    scene,
    Object.entries(commands).map(([id, cmd]) => command(id, cmd)),
    access,
  );
