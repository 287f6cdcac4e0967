import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { findCodexBinary } from '../../src/codex/binary.ts';
import { tomlString } from '../../src/codex/home/config-toml.ts';
import type { Script } from '../../src/demo/model-server.ts';
import type { ScriptStep } from '../../src/demo/script-step.ts';
import { inTurn, says } from '../support/scripts.ts';
import { startChatGptBackend } from './backend.ts';
import type { ChatGptBackend } from './backend.ts';
import type { ModelRequest } from './recorded.ts';

/**
 * The official codex against the fake: its own provider, its own prompt and tools, no proxy. The real service
 * accepts whatever it sends, so a rule that it breaks is a wrong rule.
 */
let backend: ChatGptBackend;
let home: string;

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);

beforeAll(async () => {
  backend = await startChatGptBackend({ script: says([{ text: 'Done.' }]), tls: true });
  home = await mkdtemp(path.join(tmpdir(), 'real-codex-'));
  await writeFile(path.join(home, 'authority.pem'), backend.authority ?? '');
  await writeFile(path.join(home, 'pixel.png'), PIXEL);
  await writeFile(
    path.join(home, 'config.toml'),
    [
      `chatgpt_base_url = ${tomlString(backend.baseUrl)}`,
      `openai_base_url = ${tomlString(`${backend.baseUrl}/codex`)}`,
      'cli_auth_credentials_store = "file"',
      'check_for_update_on_startup = false',
      '[analytics]',
      'enabled = false',
      '',
    ].join('\n'),
  );
});
afterEach(() => backend.reset());
afterAll(async () => {
  await backend.close();
  await rm(home, { recursive: true, force: true });
});

const codex = async (...args: readonly string[]): Promise<string> => {
  const child = spawn(findCodexBinary().path, args, {
    cwd: home,
    env: {
      PATH: process.env['PATH'],
      HOME: home,
      CODEX_HOME: home,
      CODEX_CA_CERTIFICATE: path.join(home, 'authority.pem'),
      CODEX_REFRESH_TOKEN_URL_OVERRIDE: backend.tokenUrl,
      CODEX_REVOKE_TOKEN_URL_OVERRIDE: backend.revokeUrl,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 50_000,
  });
  const [stdout, stderr, [exitCode]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  if (exitCode !== 0) throw new Error(`codex failed: ${stderr}`);
  return stdout;
};

const thinking = (encrypted: string): ScriptStep => ({ reasoning: { summary: ['**Thinking**'], encrypted } });

/** A call of one of codex's own tools, which it answers itself. */
const callOf = (model: string): ScriptStep =>
  model === 'gpt-5.5'
    ? { call: { name: 'exec_command', arguments: { cmd: 'echo hello' }, callId: 'call_1' } }
    : {
        item: {
          type: 'custom_tool_call',
          id: 'ctc_1',
          call_id: 'call_1',
          name: 'exec',
          input: 'text("hello")',
          status: 'completed',
        },
      };

const thinksCallsAndSays = (model: string): Script =>
  inTurn(
    says([thinking('reasoning-1'), callOf(model)]),
    says([thinking('reasoning-2'), { text: 'That was the tool.' }]),
    says([thinking('reasoning-3'), { text: 'And this is the second turn.' }]),
  );

/** Without its warm-ups, which only a socket has. */
const turnRequests = (): readonly ModelRequest[] =>
  backend.modelRequests.filter(({ body }) => body['generate'] !== false);

describe.each(['websocket', 'http'] as const)('the official codex breaks no rule over %s', (transport) => {
  beforeEach(() => {
    if (transport === 'http') backend.failUpgrade({ status: 426 });
  });

  it.each(['gpt-5.5', 'gpt-6.1-sol'])(
    'of the fake, with a tool, an image and a second turn on %s',
    async (model) => {
      // It sends its instructions as a developer message on every model, and omits the field.
      backend.settings.instructionsNeeded = 'or-developer-message';
      backend.use(thinksCallsAndSays(model));
      await backend.writeLogin(home);
      const options = ['--skip-git-repo-check', '-m', model];
      expect(await codex('exec', ...options, '-i', 'pixel.png', '--', 'Look at this.')).toContain(
        'That was the tool.',
      );
      expect(await codex('exec', 'resume', '--last', ...options, 'And again.')).toContain(
        'And this is the second turn.',
      );
      expect(backend.violations('A', 'B', 'C').map(({ rule }) => rule)).toEqual([]);
      expect(
        turnRequests().map((request) => [request.transport, request.requestFormat, request.broken]),
      ).toEqual(
        Array.from({ length: 3 }, () => [transport, model === 'gpt-5.5' ? 'responses' : 'codex', []]),
      );
      const [first] = turnRequests();
      expect(first?.headers['version']).toBe(findCodexBinary().version);
      expect(first?.body).not.toHaveProperty('instructions');
      expect(JSON.stringify(first?.body['input'])).toContain('data:image/png;base64,');
    },
  );

  it('when its token is expired: it refreshes it first', async () => {
    backend.settings.instructionsNeeded = 'or-developer-message';
    await backend.writeLogin(home);
    backend.spoilTokens('expired');
    expect(await codex('exec', '--skip-git-repo-check', '-m', 'gpt-5.5', 'Hello.')).toContain('Done.');
    expect(backend.refreshes).toBe(1);
    expect(backend.violations('A', 'B', 'C').map(({ rule }) => rule)).toEqual([]);
  });
});

describe('the official codex', () => {
  it('opens one socket per run, warms it up, and continues its answers', async () => {
    backend.settings.instructionsNeeded = 'or-developer-message';
    backend.use(thinksCallsAndSays('gpt-5.5'));
    await backend.writeLogin(home);
    await codex('exec', '--skip-git-repo-check', '-m', 'gpt-5.5', 'Hello.');
    expect(backend.dials.map(({ status, broken, frames }) => ({ status, broken, frames }))).toEqual([
      { status: 101, broken: [], frames: 3 },
    ]);
    const [warmUp, first, second] = backend.modelRequests.map(({ frame }) => frame);
    expect(warmUp).toMatchObject({ generate: false });
    expect([first, second].map((frame) => typeof frame?.['previous_response_id'])).toEqual([
      'string',
      'string',
    ]);
    expect(JSON.stringify(backend.modelRequests[2]?.body['input'])).toContain('function_call_output');
    // The warm-up's in the turn, and then the turn's.
    expect(backend.modelRequests.map(({ headers }) => headers['x-codex-turn-state'] !== undefined)).toEqual([
      false,
      true,
      true,
    ]);
  });

  it.each([
    ['an upgrade without support', () => backend.failUpgrade({ status: 426 }), ['http']],
    [
      'a cut after output',
      () => backend.fail({ kind: 'cut', after: 'output' }, 1),
      ['websocket', 'websocket'],
    ],
    [
      'a socket that is too old',
      () => backend.fail({ kind: 'connection-limit' }, 1),
      ['websocket', 'websocket'],
    ],
  ] as const)('understands %s', async (_name, fail, transports) => {
    backend.settings.instructionsNeeded = 'or-developer-message';
    await backend.writeLogin(home);
    fail();
    expect(await codex('exec', '--skip-git-repo-check', '-m', 'gpt-5.5', 'Hello.')).toContain('Done.');
    expect(turnRequests().map(({ transport }) => transport)).toEqual(transports);
    expect(backend.violations('A', 'B', 'C').map(({ rule }) => rule)).toEqual([]);
  });

  it('asks for the models', async () => {
    await backend.writeLogin(home);
    const { models } = JSON.parse(await codex('debug', 'models')) as { models: { slug: string }[] };
    expect(models.map(({ slug }) => slug)).toEqual(backend.settings.models.map(({ slug }) => slug));
  });
});
