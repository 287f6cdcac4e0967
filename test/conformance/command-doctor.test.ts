import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import { openCommandRoom, type CommandRoom } from '../support/command.ts';
import { hello, http401, toolCall } from '../support/scripts.ts';

/** `doctor` with healthy and broken backends. */

let room: CommandRoom;
beforeEach(async () => {
  room = await openCommandRoom();
});
afterEach(() => room.close());

interface Report {
  readonly ok: boolean;
  readonly findings: readonly { readonly check: string; readonly grade: string; readonly says: string }[];
}

const ask = async (flags: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  const command = room.start(['doctor', ...flags], env);
  const [code] = await command.exited;
  return { code, ...command.output };
};

/** `check: grade`, and the overall verdict. */
const examine = async (flags: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  const { code, out } = await ask(['--json', ...flags], env);
  const report = JSON.parse(out) as Report;
  return {
    code,
    ok: report.ok,
    grades: report.findings.map(({ check, grade }) => `${check}: ${grade}`),
    says: Object.fromEntries(report.findings.map(({ check, says }) => [check, says])),
    out,
  };
};

const MACHINE = ['Node: ok', 'codex: ok', 'settings: ok', 'state: ok', 'store: ok'];

/** A provider that obeys a forced tool choice and has a prompt cache. */
const provider: Script = (request, connection) => {
  const isForced = typeof request.body['tool_choice'] === 'object';
  return (isForced ? toolCall('say_ok', { ok: true }) : hello)(request, connection);
};

describe('doctor', () => {
  it('reports no problem with the demo model, and how to get a better one', async () => {
    const { code, out, err } = await ask([]);
    expect(code).toBe(0);
    expect(err).toContain('3,200 tokens');
    expect(out.replaceAll(/^(\w+ +)/gm, (word) => `${word.trim()} `)).toContain(
      'ok turn          codex-5 answered',
    );
    expect(out).toMatch(/→ run .*run login/);
    expect(out.trimEnd().split('\n').at(-1)).toBe('0 problems, 1 warning.');
  });

  it('gives up on a provider that never answers, and sends no more requests', async () => {
    const silent = createServer();
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    try {
      const { code, grades, says } = await examine([], {
        PROXY_UPSTREAM_BASE_URL: `http://127.0.0.1:${port}/v1`,
        // Without this it would wait for its own limit of 20 s.
        PROXY_UPSTREAM_IDLE_TIMEOUT_MS: '1000',
      });
      expect({ code, grades }).toEqual({
        code: 1,
        grades: [
          ...MACHINE,
          'login: skipped',
          'server: skipped',
          'backend: problem',
          'app-server: ok',
          'prompt: ok',
          'turn: problem',
        ],
      });
      expect(says['turn']).toContain('sent nothing for 1 s');
    } finally {
      silent.close();
    }
  }, 60_000);

  it('tests everything that clients use', async () => {
    const model = await room.startModel({ script: provider });
    const { code, ok, grades, says } = await examine([], { PROXY_UPSTREAM_BASE_URL: model.baseUrl });
    expect({ code, ok, grades }).toEqual({
      code: 0,
      ok: true,
      grades: [
        ...MACHINE,
        'login: skipped',
        'server: skipped',
        'backend: ok',
        'app-server: ok',
        'prompt: ok',
        'turn: ok',
        'forced tool: ok',
        'cache: ok',
        'limits: skipped',
      ],
    });
    expect(says['cache']).toBe('3 of 11 tokens of a second turn came from the cache');
  });

  it('reports once what a provider rejects', async () => {
    const model = await room.startModel({ script: http401 });
    const { code, grades } = await examine([], { PROXY_UPSTREAM_BASE_URL: model.baseUrl });
    expect({ code, grades: grades.slice(7) }).toEqual({
      code: 1,
      grades: ['backend: ok', 'app-server: ok', 'prompt: ok', 'turn: problem'],
    });
  });

  it('continues after a failed check, and skips checks that are turned off', async () => {
    const model = await room.startModel({ script: provider, keepRequests: 1 });
    const { code, grades } = await examine(['--no-turns'], {
      PROXY_UPSTREAM_BASE_URL: model.baseUrl,
      PROXY_STATE_DIR: '/dev/null/nowhere',
      PROXY_PROT: '80',
    });
    expect({ code, grades, asked: model.requests }).toEqual({
      code: 1,
      grades: [
        'Node: ok',
        'codex: ok',
        'settings: warning',
        'state: problem',
        'store: ok',
        'login: skipped',
        'server: skipped',
        'backend: ok',
        'turn: skipped',
      ],
      asked: [],
    });
  });

  it('names the config file and the source of each setting, but no value', async () => {
    await mkdir(room.stateDir, { recursive: true, mode: 0o700 });
    const file = path.join(room.stateDir, 'config.json');
    await writeFile(file, JSON.stringify({ demo: false, apiKey: ['sk-hidden'], port: 1 }));
    const { says, out } = await examine(['--no-turns'], { PROXY_PROT: '80' });
    expect(says['settings']).toContain('PROXY_PROT is not a setting of this server');
    expect(says['settings']).toContain(`config file ${file}; Everyday: PORT (environment), `);
    expect(says['settings']).toContain('PROXY_API_KEY (config file)');
    expect(says['settings']).toContain('Deployment: PROXY_DEMO (config file)');
    expect(out).not.toContain('sk-hidden');
  });

  it('stops if the settings are invalid', async () => {
    const { code, grades, says } = await examine([], { PROXY_DEMO: 'perhaps' });
    expect({ code, grades }).toEqual({ code: 1, grades: [...MACHINE.slice(0, 2), 'settings: problem'] });
    expect(says['settings']).toContain('PROXY_DEMO: "perhaps" is not allowed');
  });

  it('describes a login without showing a token, and what prevents its use', async () => {
    const claims = {
      email: 'ann@example.com',
      exp: 4_000_000_000,
      'https://api.openai.com/auth': { chatgpt_plan_type: 'plus', chatgpt_account_id: 'acc-1' },
    };
    const token = ['{"alg":"none"}', JSON.stringify(claims), 'signature']
      .map((part) => Buffer.from(part).toString('base64url'))
      .join('.');
    const home = path.join(room.stateDir, 'codex');
    await mkdir(home, { recursive: true, mode: 0o700 });
    const tokens = {
      id_token: token,
      access_token: token,
      refresh_token: 'refresh-secret',
      account_id: 'acc-1',
    };
    await writeFile(
      path.join(home, 'auth.json'),
      JSON.stringify({ OPENAI_API_KEY: null, tokens, last_refresh: new Date().toISOString() }),
      { mode: 0o600 },
    );
    const { code, grades, says, out } = await examine([]);
    expect({ code, grades }).toEqual({
      code: 1,
      grades: [
        ...MACHINE,
        'login: ok',
        'server: skipped',
        'backend: problem',
        'app-server: ok',
        'prompt: ok',
        'turn, lite: problem',
        'turn, full: problem',
      ],
    });
    expect(says['login']).toBe(
      'ChatGPT, a***@example.com, plan plus; valid until 2096-10-02 07:06 UTC, then renewed automatically',
    );
    for (const secret of [token, 'refresh-secret', 'ann@']) expect(out).not.toContain(secret);
  });
});
