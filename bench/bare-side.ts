import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';

import { findCodexBinary } from '../src/codex/binary.ts';
import { prepareHomes } from '../src/codex/home/prepare-home.ts';
import { IGNORED_NOTIFICATIONS } from '../src/codex/protocol/methods.ts';
import { childEnvironment } from '../src/codex/home/environment.ts';
import { createLineDecoder } from '../src/kit/text/line-decoder.ts';
import { residentMb } from './processes.ts';
import { MCP_LABEL, promptOf, type Ask, type Side, type Timing } from './workload.ts';

/**
 * The app-server without the proxy, with its default certificates and threads. Otherwise the same home, the same calls,
 * and the least work that still receives every delta: one JSON parse per line, one lookup per notification.
 */

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly threadId?: string; readonly delta?: string };
  readonly result?: { readonly thread?: { readonly id: string } };
  readonly error?: unknown;
}

interface Running {
  firstDeltaAt: number;
  deltas: number;
  textChars: number;
  readonly end: () => void;
}

export const startBareSide = async (stateDir: string, baseUrl: string): Promise<Side> => {
  const homes = await prepareHomes({ stateDir, binary: findCodexBinary(), environment: process.env });
  const home = await homes.create({ kind: 'upstream', baseUrl, apiKeyEnv: null });
  const child = spawn(homes.binary.path, ['app-server'], {
    cwd: home.path,
    env: childEnvironment(process.env, {
      codexHome: home.path,
      apiKeyEnv: null,
      certificateFile: null,
      login: {},
    }),
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const workdir = path.join(stateDir, 'work');
  await mkdir(workdir);
  const calls = new Map<number, (message: Message) => void>();
  const turns = new Map<string, Running>();
  let nextId = 1;

  const onMessage = (message: Message): void => {
    if (message.method === undefined) {
      calls.get(message.id ?? 0)?.(message);
      return;
    }
    const turn = turns.get(message.params?.threadId ?? '');
    if (turn === undefined) return;
    if (message.method === 'item/agentMessage/delta') {
      if (turn.deltas === 0) turn.firstDeltaAt = performance.now();
      turn.deltas += 1;
      turn.textChars += message.params?.delta?.length ?? 0;
    } else if (message.method === 'turn/completed') turn.end();
  };
  const decoder = createLineDecoder();
  child.stdout.on('data', (chunk: Buffer) => {
    for (const line of decoder.push(chunk)) onMessage(JSON.parse(line));
  });

  const send = (message: object): void => void child.stdin.write(`${JSON.stringify(message)}\n`);
  const call = (method: string, params: object): Promise<Message> =>
    new Promise((resolve, reject) => {
      const id = nextId;
      nextId += 1;
      calls.set(id, (answer) => {
        calls.delete(id);
        if (answer.error === undefined) resolve(answer);
        else reject(new Error(`${method}: ${JSON.stringify(answer.error)}`));
      });
      send({ id, method, params });
    });

  await call('initialize', {
    clientInfo: { name: 'bench', title: null, version: '0' },
    capabilities: {
      experimentalApi: true,
      requestAttestation: false,
      optOutNotificationMethods: IGNORED_NOTIFICATIONS,
    },
  });
  send({ method: 'initialized' });

  return {
    name: 'bare app-server',
    async run(ask): Promise<Timing> {
      const startedAt = performance.now();
      const { result } = await call('thread/start', threadStart(ask, workdir));
      const threadId = result?.thread?.id ?? '';
      const ended = Promise.withResolvers<void>();
      const turn: Running = { firstDeltaAt: startedAt, deltas: 0, textChars: 0, end: ended.resolve };
      turns.set(threadId, turn);
      await call('thread/inject_items', { threadId, items: injectItems(ask) });
      await call('turn/start', { threadId, input: [], summary: 'none' });
      await ended.promise;
      turns.delete(threadId);
      return {
        firstDeltaMs: turn.firstDeltaAt - startedAt,
        endMs: performance.now() - startedAt,
        deltas: turn.deltas,
        textChars: turn.textChars,
      };
    },
    memory: () => residentMb(({ pid }) => pid === child.pid),
    async close() {
      const exited = once(child, 'exit');
      child.stdin.end();
      await exited;
      await home.remove();
    },
  };
};

/** The same parameters as the proxy's. The report compares what the model sees. */
const threadStart = (ask: Ask, cwd: string): object => ({
  model: ask.model,
  cwd,
  sandbox: 'read-only',
  approvalPolicy: 'never',
  baseInstructions: '',
  dynamicTools: (ask.tools ?? []).map(({ parameters, ...tool }) => ({
    type: 'function',
    ...tool,
    inputSchema: parameters,
  })),
  ...(ask.mcp === undefined ? {} : { config: { mcp_servers: { [MCP_LABEL]: mcpServer(ask.mcp.url) } } }),
  environments: [],
  ephemeral: true,
  experimentalRawEvents: true,
});

/** Required, because a thread would otherwise start without its tools. */
const mcpServer = (url: string): object => ({ url, required: true, default_tools_approval_mode: 'approve' });

const injectItems = (ask: Ask): readonly object[] => [
  ...(ask.instructions === undefined ? [] : [message('developer', ask.instructions)]),
  message('user', promptOf(ask)),
  ...(ask.history ?? []),
];

const message = (role: string, text: string): object => ({
  type: 'message',
  role,
  content: [{ type: 'input_text', text }],
});
