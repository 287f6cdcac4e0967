import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { openCommandRoom, type CommandRoom } from '../support/command.ts';
import { hello, toolCall } from '../support/scripts.ts';
import { startChatGptBackend, type ChatGptBackend } from './backend.ts';

/** `doctor` with a login: what a user with a ChatGPT plan reads. */
let room: CommandRoom;
let backend: ChatGptBackend;
beforeEach(async () => {
  room = await openCommandRoom();
  backend = await startChatGptBackend({
    script: (request, connection) => {
      const isForced = typeof request.body['tool_choice'] === 'object';
      return (isForced ? toolCall('say_ok', { ok: true }) : hello)(request, connection);
    },
  });
});
afterEach(async () => {
  await room.close();
  await backend.close();
});

interface Finding {
  readonly check: string;
  readonly grade: string;
  readonly says: string;
}

const examine = async () => {
  const home = path.join(room.home, 'login');
  await mkdir(home, { recursive: true });
  await backend.writeLogin(home);
  const { tokens } = JSON.parse(await readFile(path.join(home, 'auth.json'), 'utf8')) as {
    tokens: Record<string, string>;
  };
  const command = room.start(['doctor', '--json'], {
    CODEX_HOME: home,
    PROXY_CHATGPT_BASE_URL: backend.baseUrl,
    CODEX_REFRESH_TOKEN_URL_OVERRIDE: backend.tokenUrl,
    CODEX_REVOKE_TOKEN_URL_OVERRIDE: backend.revokeUrl,
  });
  const [code] = await command.exited;
  const { out, err } = command.output;
  const secrets = ['access_token', 'id_token', 'refresh_token'].map((name) => tokens[name] ?? 'none');
  expect(secrets.filter((secret) => `${out}${err}`.includes(secret))).toEqual([]);
  const { findings } = JSON.parse(out) as { findings: readonly Finding[] };
  return { code, findings: new Map(findings.map((finding) => [finding.check, finding])) };
};

it('asks in both request formats, forces a tool, reads the limits, and says which transport is faster', async () => {
  backend.settings.sseDelayMs = 1_500;
  const { code, findings } = await examine();
  const grades = [...findings.values()].map(({ check, grade }) => `${check}: ${grade}`);
  expect(code).toBe(0);
  expect(grades).toEqual(
    expect.arrayContaining([
      'login: ok',
      'backend: ok',
      'app-server: ok',
      'prompt: ok',
      'turn, lite: ok',
      'turn, full: ok',
      'WebSocket: ok',
      'POST: ok',
      'forced tool: ok',
      'limits: ok',
    ]),
  );
  expect(findings.get('login')?.says).toContain('plus');
  expect([...new Set(backend.modelRequests.map(({ requestFormat }) => requestFormat))].toSorted()).toEqual([
    'codex',
    'responses',
  ]);
  expect(backend.violations()).toEqual([]);
  expect(findings.get('WebSocket')?.says).toContain('the upgrade was answered with 101');
  expect(findings.get('transport')).toMatchObject({ grade: 'ok' });
  expect(findings.get('transport')?.says).toMatch(/^WebSocket is faster for this account: /);
});

it('says how a refused upgrade was answered', async () => {
  backend.failUpgrade({ status: 426 });
  const { code, findings } = await examine();
  expect(code).toBe(0);
  expect(findings.get('WebSocket')).toMatchObject({
    grade: 'warning',
    says: 'the upgrade was answered with 426',
  });
  expect(findings.get('POST')).toMatchObject({ grade: 'ok' });
  expect(findings.has('transport')).toBe(false);
});

it('reports which page blocks the requests', async () => {
  backend.cloudflare({ on: 'both' });
  const { code, findings } = await examine();
  expect(code).toBe(1);
  expect(findings.get('turn, lite')).toMatchObject({ grade: 'problem' });
  expect(findings.get('turn, lite')?.says).toContain('Cloudflare');
});
