import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { hostname } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { proofKeyOf, proofOf } from '../../src/features/keys/key-secret.ts';
import { findCodexBinary } from '../../src/codex/binary.ts';
import { CLAUDE, CLAUDE_FOLDER, HAS_CLAUDE } from '../support/claude-code.ts';
import { closedHost } from '../support/closed-host.ts';
import { openCommandRoom, type CommandRoom } from '../support/command.ts';
import { openProxy } from '../support/open-proxy.ts';
import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import type { ScriptStep } from '../../src/demo/script-step.ts';
import { hello } from '../support/scripts.ts';
import { until } from '../support/until.ts';

/** The real clients with the settings that `connect` writes. */
const proxy = await openProxy(hello);

let room: CommandRoom;
beforeEach(async () => {
  room = await openCommandRoom();
});
const children = new Set<ChildProcess>();
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
  await room.close();
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Where the clients are found, and no host but this machine. */
const around = async (): Promise<Record<string, string>> => {
  const nowhere = `http://${await closedHost()}`;
  const folders = [CLAUDE_FOLDER, path.dirname(findCodexBinary().path), process.env['PATH'] ?? ''];
  return {
    PATH: folders.join(path.delimiter),
    HTTP_PROXY: nowhere,
    HTTPS_PROXY: nowhere,
    NO_PROXY: '127.0.0.1',
    PROXY_API_KEY: proxy.key,
  };
};

const connect = async (...words: readonly string[]): Promise<Ended> => {
  const command = room.start(['connect', ...words], await around());
  const [code] = await command.exited;
  return { code, ...command.output };
};

/** Runs a client as its user does, without any variable for this server. */
const runClient = async (program: string, ...words: readonly string[]): Promise<Ended> => {
  const { PROXY_API_KEY: _key, ...env } = await around();
  const cwd = path.join(room.home, 'project');
  await mkdir(cwd, { recursive: true });
  const child = spawn(program, words, {
    cwd,
    env: { ...env, HOME: room.home },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
};

const SERVER = ['--url', proxy.url] as const;
const ANSWER = 'Hello from the scripted model.\n';

describe.skipIf(!HAS_CLAUDE)('connect claude', { meta: { needs: CLAUDE } }, () => {
  it('writes a file with which Claude Code uses this server, until it is taken back', async () => {
    expect(await connect('claude', '--yes', ...SERVER)).toMatchObject({ code: 0 });
    expect(await runClient('claude', '-p', 'Say hello.')).toMatchObject({ code: 0, out: ANSWER });
    expect(await connect('claude', '--undo', '--yes')).toMatchObject({ code: 0 });
    const without = await runClient('claude', '-p', 'Say hello.');
    expect([without.code, without.out]).toEqual([1, expect.stringContaining('Not logged in')]);
  });

  it('starts it with --run, and writes nothing', async () => {
    expect(await connect('claude', '--run', ...SERVER, '--', '-p', 'Say hello.')).toMatchObject({
      code: 0,
      out: ANSWER,
    });
    expect(await readdir(path.join(room.home, '.claude'))).not.toContain('settings.json');
  });
});

describe('connect codex', () => {
  const EXEC = ['exec', '--skip-git-repo-check', '--strict-config', 'Say hello.'] as const;

  it('writes a file that codex accepts, and with which it uses this server', async () => {
    expect(await connect('codex', '--yes', ...SERVER)).toMatchObject({ code: 0 });
    expect(await runClient('codex', ...EXEC)).toMatchObject({ code: 0, out: ANSWER });
    expect(await readFile(path.join(room.home, '.codex/config.toml'), 'utf8')).toContain(
      `base_url = "${proxy.url}/v1"`,
    );
  });

  it('gives it a key of its own that can only run turns, uses it again, and revokes it', async () => {
    const made = async () => {
      const listed = await proxy.get('/v1/codex/keys');
      const { data } = (await listed.json()) as {
        data: { name: string; scopes: string[]; status: string }[];
      };
      return data.filter(({ status }) => status === 'active').map(({ name, scopes }) => [name, scopes]);
    };
    const before = await made();
    for (const model of ['codex-5', 'claude-sonnet-5']) {
      expect(await connect('codex', '--yes', '--model', model, ...SERVER)).toMatchObject({ code: 0 });
      expect(await made()).toEqual([[`connect: codex on ${hostname()}`, ['infer']], ...before]);
    }
    expect(await readFile(path.join(room.home, '.codex/config.toml'), 'utf8')).not.toContain(proxy.key);
    expect(await connect('codex', '--undo', '--yes')).toMatchObject({
      code: 0,
      err: expect.stringContaining(`The key "connect: codex on ${hostname()}" was revoked.`),
    });
    expect(await made()).toEqual(before);
  });

  it('starts it with --run, and returns its exit code', async () => {
    expect(await connect('codex', '--run', ...SERVER, '--', ...EXEC)).toMatchObject({ code: 0, out: ANSWER });
    expect(await readdir(path.join(room.home, '.codex'))).not.toContain('config.toml');
    expect(await connect('codex', '--run', ...SERVER, '--', '--no-such-flag')).toMatchObject({ code: 2 });
  });
});

/** Calls the tool `ask` of this server over MCP, and then answers with its result. */
const callsAsk: Script = ({ body }, connection) => {
  const [name] = /[\w-]*codex-app-server-proxy__ask/.exec(JSON.stringify(body['tools'] ?? [])) ?? [];
  const steps = (): readonly ScriptStep[] => {
    if (name === undefined) return [{ text: 'Paris.' }];
    if (JSON.stringify(body['input']).includes('Paris.')) return [{ text: 'It is Paris.' }];
    return [{ call: { name, arguments: { prompt: 'What is the capital of France?' } } }];
  };
  return answer(connection, steps());
};

describe.skipIf(!HAS_CLAUDE)('connect claude --mcp', { meta: { needs: CLAUDE } }, () => {
  it('writes a file with which Claude Code calls the tools of this server', async () => {
    expect(await connect('claude', '--mcp', '--yes', ...SERVER)).toMatchObject({ code: 0 });
    const listed = await runClient('claude', 'mcp', 'list');
    expect(listed.out).toMatch(/codex-app-server-proxy: \S+\/mcp \(HTTP\) - . Connected/);
    await connect('claude', '--yes', ...SERVER);
    proxy.use(callsAsk);
    const tool = [
      '--allowedTools',
      'mcp__codex-app-server-proxy__ask',
      // The model would have to look for it.
      '--settings',
      '{"env":{"ENABLE_TOOL_SEARCH":"false"}}',
    ];
    const asked = await runClient('claude', '-p', 'What is the capital of France?', ...tool);
    proxy.use(hello);
    expect(asked).toMatchObject({ code: 0, out: 'It is Paris.\n' });
  });
});

describe('connect codex --mcp', () => {
  it('writes a file with which codex connects to this server', async () => {
    await connect('codex', '--mcp', '--yes', ...SERVER);
    await connect('codex', '--yes', ...SERVER);
    const before = proxy.log.length;
    const asked = await runClient('codex', 'exec', '--skip-git-repo-check', '--strict-config', 'Say hello.');
    expect(asked).toMatchObject({ code: 0, out: ANSWER });
    const routes = proxy.log.slice(before).map(({ method, route }) => `${String(method)} ${String(route)}`);
    expect(routes).toEqual(expect.arrayContaining(['POST /mcp', 'POST /v1/responses']));
  });
});

describe('connect env --run', () => {
  it('passes signals on, and returns the exit code of the program', async () => {
    const program = `process.on('SIGTERM', () => process.exit(7)); setInterval(() => {}, 1000); console.log(process.env.ANTHROPIC_BASE_URL)`;
    const words = ['connect', 'env', '--run', ...SERVER, '--', process.execPath, '-e', program];
    const { child, output, exited } = room.start(words, await around());
    await until(() => output.out === `${proxy.url}\n`);
    child.kill('SIGTERM');
    expect(await exited).toEqual([7, null]);
  });

  it('returns 128 and the number of the signal that ended the program', async () => {
    expect(await connect('env', '--run', ...SERVER, '--', 'sh', '-c', 'kill -KILL $$')).toMatchObject({
      code: 137,
    });
  });
});

describe('the proof that this server knows its key', () => {
  const nonce = 'n'.repeat(43);
  const prove = (query = `nonce=${nonce}`, headers: Record<string, string> = {}) =>
    fetch(`${proxy.url}/v1/codex/key-proof?${query}`, { headers });

  it('is of the address that was reached, and of the keys of the settings', async () => {
    const { address, salt, proofs } = (await (await prove()).json()) as Record<string, string>;
    expect(address).toBe(new URL(proxy.url).host);
    expect(proofs).toEqual([proofOf(await proofKeyOf(proxy.key, salt ?? ''), nonce, address ?? '')]);
  });

  it.each<readonly [string, number, string | undefined, Record<string, string>]>([
    ['another nonce', 400, 'nonce=short', {}],
    ['a forwarded request', 403, undefined, { 'x-forwarded-for': '10.0.0.1' }],
    ['a web page', 403, undefined, { 'sec-fetch-site': 'same-origin' }],
  ])('is not given for %s', async (_, status, query, headers) => {
    expect((await prove(query, headers)).status).toBe(status);
  });

  it('is not given for a web page whose host name leads here', async () => {
    // Browsers send no header about the page with its own requests over HTTP.
    const asked = request(`${proxy.url}/v1/codex/key-proof?nonce=${nonce}`, {
      headers: { host: 'rebound.example' },
    }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(403);
  });

  it('is not given without a limit', async () => {
    let status = 200;
    for (let asked = 0; asked < 100 && status === 200; asked += 1) status = (await prove()).status;
    expect(status).toBe(429);
  });
});
