import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Workspace } from '../src/canonical/mcp/workspace.ts';
import type { ThreadSignal } from '../src/codex/app-server.ts';
import { findCodexBinary } from '../src/codex/binary.ts';
import { prepareHomes } from '../src/codex/home/prepare-home.ts';
import { openAgentWorkers, type AgentWorkers } from '../src/features/agents/run/workers.ts';
import { isJsonObject, textIn, type JsonObject } from '../src/kit/json/json.ts';
import { KEY, type ProxySide } from './proxy-side.ts';
import { compareTimes, firstDeltas, ms, ratioOf, SHORT, type Row } from './rows.ts';
import { median } from './statistics.ts';
import { RUN_COMMAND, type Timing } from './workload.ts';

/** Prints the time, which shows how old the output is when it arrives. */
const CLOCK_COMMAND = 'for i in $(seq 40); do date +%s%N; sleep 0.05; done';
const MODEL = 'gpt-5.5';
const LABEL = 'bench';

/** What one turn with a command showed. */
interface AgentTurn {
  /** When the command was first shown. */
  readonly firstMs: number;
  /** How old each printed time was when it arrived. */
  readonly agesMs: readonly number[];
}

interface AgentSide {
  run(command: string): Promise<AgentTurn>;
  close(): Promise<void>;
}

/** The folders of a workspace, its configuration, and of an app-server that is used directly. */
export interface AgentFolders {
  readonly workspace: string;
  readonly configFile: string;
  readonly bareState: string;
}

/** Next to each other: none may contain another. */
export const agentFolders = async (stateDir: string): Promise<AgentFolders> => {
  const room = path.join(stateDir, 'agents');
  const folders = {
    workspace: path.join(room, 'workspace'),
    configFile: path.join(room, 'config', 'mcp.json'),
    bareState: path.join(room, 'bare'),
  };
  await mkdir(folders.workspace, { recursive: true });
  await mkdir(path.dirname(folders.configFile));
  await writeFile(
    folders.configFile,
    JSON.stringify({ mcpServers: { [LABEL]: { workspace: folders.workspace } } }),
  );
  return folders;
};

/** Adds the ages of the times that a piece of output has; returns the rest of its last line. */
const addAges = (text: string, ages: number[]): string => {
  const lines = text.split('\n');
  const rest = lines.pop() ?? '';
  const now = performance.timeOrigin + performance.now();
  for (const line of lines) if (/^\d{19}$/u.test(line)) ages.push(now - Number(line) / 1e6);
  return rest;
};

/** The app-server with the same configuration, without a server in front of it. */
const startBareAgent = async (folders: AgentFolders, modelUrl: string): Promise<AgentSide> => {
  const workspace: Workspace = {
    label: LABEL,
    path: folders.workspace,
    configuredPath: folders.workspace,
    access: 'write',
    network: 'none',
    read: [],
    write: [],
    hide: [],
    git: false,
    env: {},
    requireApproval: 'never',
    runs: 1,
    maxSeconds: 1800,
    maxModelRequests: 200,
    callSeconds: 600,
  };
  const binary = findCodexBinary();
  const silent = { debug() {}, info() {}, warn() {}, error() {} };
  const workers = await openAgentWorkers({
    homes: await prepareHomes({ stateDir: folders.bareState, binary, environment: process.env }),
    stateDir: folders.bareState,
    workspaces: [workspace],
    secretPaths: [],
    gatewayUrl: modelUrl,
    size: 1,
    hangTimeoutMs: 60_000,
    maxRssMb: 16_384,
    maxHomeMb: 16_384,
    maxThreads: 1_000_000,
    logger: silent as never,
  });
  return {
    run: (command) => runBare(workers, workspace, command),
    close: () => workers.drain(0),
  };
};

const runBare = async (workers: AgentWorkers, workspace: Workspace, command: string): Promise<AgentTurn> => {
  const place = await workers.open({ workspace, access: 'write' }, new AbortController().signal);
  const { appServer } = place;
  const startedAt = performance.now();
  const { thread } = await appServer.request('thread/start', { ...place.thread, model: MODEL });
  const ended = Promise.withResolvers<void>();
  const agesMs: number[] = [];
  let firstMs = Number.NaN;
  let rest = '';
  const unwatch = appServer.watchThread(thread.id, (signal: ThreadSignal) => {
    if (signal.kind !== 'notification') return;
    const { item, delta } = signal.params as { item?: { type: string }; delta?: string };
    if (signal.method === 'item/started' && item?.type === 'commandExecution')
      firstMs = performance.now() - startedAt;
    if (signal.method === 'item/commandExecution/outputDelta') rest = addAges(rest + (delta ?? ''), agesMs);
    if (signal.method === 'turn/completed') ended.resolve();
  });
  const text = RUN_COMMAND + command;
  const { turn } = await appServer.request('turn/start', {
    threadId: thread.id,
    input: [{ type: 'text', text, text_elements: [] }],
  });
  await ended.promise;
  unwatch();
  await place.close({ threadId: thread.id, turnId: turn.id });
  return { firstMs, agesMs };
};

/** A session of the Agents API. */
const startSession = async ({ url }: ProxySide): Promise<AgentSide & { readonly id: string }> => {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const call = async (method: string, where: string, body?: object): Promise<JsonObject> => {
    const answer = await fetch(`${url}/agents/sessions${where}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`the proxy answered ${answer.status}: ${text}`);
    const read: unknown = text === '' ? {} : JSON.parse(text);
    return isJsonObject(read) ? read : {};
  };
  const session = await call('POST', '', {
    agent: { model: MODEL },
    environment: { type: 'self_hosted', workspace_directory: LABEL },
  });
  const id = textIn(session, 'id');
  const leaving = new AbortController();
  return {
    id,
    async run(command) {
      const events = await fetch(`${url}/agents/sessions/${id}/events`, {
        headers,
        signal: leaving.signal,
      });
      const reading = readTurn(events, () => performance.now() - startedAt);
      const startedAt = performance.now();
      await call('POST', `/${id}/events`, {
        events: [
          {
            type: 'agent.session.input.message',
            input: [{ role: 'user', content: [{ type: 'input_text', text: RUN_COMMAND + command }] }],
          },
        ],
      });
      return reading;
    },
    async close() {
      leaving.abort();
      await call('DELETE', `/${id}`);
    },
  };
};

/** Reads the events of one turn. */
const readTurn = async (events: Response, elapsed: () => number): Promise<AgentTurn> => {
  const agesMs: number[] = [];
  let firstMs = Number.NaN;
  let rest = '';
  let unread = '';
  let hasBegun = false;
  const decoder = new TextDecoder();
  for await (const chunk of events.body ?? []) {
    const frames = (unread + decoder.decode(chunk, { stream: true })).split('\n\n');
    unread = frames.pop() ?? '';
    for (const frame of frames) {
      const data = /^data: (.*)$/mu.exec(frame)?.[1];
      if (data === undefined) continue;
      const { type, item, delta } = JSON.parse(data) as {
        readonly type: string;
        readonly item?: { readonly type: string };
        readonly delta?: string;
      };
      if (type === 'agent.session.in_progress') hasBegun = true;
      if (type === 'agent.session.turn.item.added' && item?.type === 'command_execution') firstMs = elapsed();
      if (type === 'agent.output.command_execution_output.delta')
        rest = addAges(rest + (delta ?? ''), agesMs);
      if (type === 'agent.session.turn.failed') throw new Error(`a turn failed: ${data}`);
      if (type === 'agent.session.idle' && hasBegun) return { firstMs, agesMs };
    }
  }
  throw new Error('the events ended before the turn');
};

const FIRST_GOAL = { maxAddedMs: 60 };
const LIVE_GOAL = { maxAddedMs: 20 };

/** Turns of agents, compared with the app-server that runs them. */
export const agentTurns = async (
  proxy: ProxySide,
  folders: AgentFolders,
  modelUrl: string,
  samples: number,
): Promise<readonly Row[]> => {
  const bare = await startBareAgent(folders, modelUrl);
  const ours = await startSession(proxy);
  try {
    for (const side of [bare, ours, bare, ours]) await side.run('true');
    const first = { bare: [] as number[], proxy: [] as number[] };
    for (let index = 0; index < samples; index += 1) {
      first.bare.push((await bare.run('true')).firstMs);
      first.proxy.push((await ours.run('true')).firstMs);
    }
    const live = { bare: [] as number[], proxy: [] as number[] };
    for (let index = 0; index < 3; index += 1) {
      live.bare.push(...(await bare.run(CLOCK_COMMAND)).agesMs);
      live.proxy.push(...(await ours.run(CLOCK_COMMAND)).agesMs);
    }
    const row = (figure: string, times: typeof first, goal: { readonly maxAddedMs: number }): Row => {
      const [own, theirs] = [median(times.proxy), median(times.bare)];
      return {
        figure,
        bare: ms(theirs),
        proxy: ms(own),
        ...compareTimes(own, theirs, goal),
        numbers: { samples: times.proxy.length, bareMs: theirs, proxyMs: own },
      };
    };
    return [
      row('an agent: from the message to its first command, p50', first, FIRST_GOAL),
      row('  age of live output when it arrives, p50', live, LIVE_GOAL),
    ];
  } finally {
    await ours.close();
    await bare.close();
  }
};

const SESSIONS = 100;
/** Memory of an app-server varies by as much. */
const MAX_ADDED_MB = 10;

/** What idle sessions cost the app-servers. */
export const idleSessions = async (proxy: ProxySide): Promise<Row> => {
  const sessions: AgentSide[] = [];
  const add = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index += 1) {
      const session = await startSession(proxy);
      await session.run('true');
      sessions.push(session);
    }
  };
  await add(20);
  const before = await proxy.memory();
  await add(SESSIONS);
  const added = (await proxy.memory()) - before;
  for (const session of sessions) await session.close();
  return {
    figure: `memory of the app-servers: ${SESSIONS} more idle sessions`,
    bare: `${before.toFixed(0)} MB`,
    proxy: `${added < 0 ? '' : '+'}${added.toFixed(1)} MB`,
    ratio: '',
    target: `≤ +${MAX_ADDED_MB} MB`,
    reached: added <= MAX_ADDED_MB,
    numbers: { beforeMb: before, addedMb: added, sessions: SESSIONS },
  };
};

const SLOWER = { maxRatio: 1.1 };

/** Plain turns while an agent runs a command that prints all the time, and while none does. */
export const duringAgent = async (proxy: ProxySide, samples: number): Promise<Row> => {
  const session = await startSession(proxy);
  const times = { bare: [] as number[], proxy: [] as number[] };
  const plain = (): Promise<Timing> => proxy.run(SHORT);
  const side = async (list: number[]): Promise<void> => {
    const { bare, proxy: more } = await firstDeltas({ bare: plain, proxy: plain }, samples / 4);
    list.push(...bare, ...more);
  };
  for (let round = 0; round < 2; round += 1) {
    await side(times.bare);
    const running = session.run('for i in $(seq 400); do echo $i; sleep 0.02; done');
    await sleep(1_000);
    await side(times.proxy);
    await running;
  }
  await session.close();
  const [during, alone] = [median(times.proxy), median(times.bare)];
  return {
    figure: 'plain turns while an agent runs a command: time to first text delta, p50',
    bare: ms(alone),
    proxy: ms(during),
    ...compareTimes(during, alone, SLOWER),
    ratio: ratioOf(during / alone),
    numbers: { samples, aloneMs: alone, duringMs: during },
  };
};
