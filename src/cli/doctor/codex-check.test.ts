import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { describe, expect, it, afterEach } from 'vitest';

import type { JsonObject } from '../../kit/json/json.ts';
import { TESTED_CODEX } from '../../version.ts';
import { judgeCodex, judgePrompt, serverCheck } from './codex-check.ts';
import { runCheck } from './finding.ts';

const BUBBLEWRAP = 'Codex could not find bubblewrap on PATH. Install it.';
const codex = (runs: string | null, ...warnings: readonly string[]) => ({ tested: '1.2.3', runs, warnings });

describe('what codex said at its start', () => {
  it.each([
    ['nothing', codex('1.2.3'), true, 'ok', 'starts, codex 1.2.3'],
    [
      'that it brings its own bubblewrap',
      codex('1.2.3', BUBBLEWRAP),
      true,
      'ok',
      'starts, codex 1.2.3\ncodex has not found bubblewrap, and uses the one that it brings along',
    ],
    [
      'that it is another version',
      codex('1.3.0'),
      true,
      'warning',
      'starts, codex 1.3.0\ntested with codex 1.2.3, runs 1.3.0',
    ],
    [
      'a warning',
      codex('1.2.3', 'x is ignored.'),
      true,
      'warning',
      'starts, codex 1.2.3\ncodex says: x is ignored.',
    ],
    [
      'that it cannot be used',
      codex('1.2.3', 'No.'),
      false,
      'problem',
      'codex starts no thread\ncodex says: No.',
    ],
  ])('%s', (_, report, isReady, grade, says) => {
    expect(judgeCodex(report, isReady)).toMatchObject({ grade, says, facts: report });
  });
});

describe('what codex adds to a request', () => {
  const message = { type: 'message', role: 'user', content: [] };
  const goal = { type: 'function', name: 'get_goal' };
  it.each<[string, JsonObject | null, 'on' | 'off', string, string]>([
    ['nothing', { input: [message], tools: [] }, 'off', 'ok', 'codex adds nothing to a request'],
    [
      'tools, which the relay removes',
      { input: [message], tools: [goal, { type: 'web_search' }] },
      'on',
      'warning',
      'codex adds to every request: the tools get_goal, web_search; the relay removes it',
    ],
    [
      'tools and more, which reach the model',
      {
        instructions: 'You are Codex.',
        input: [{ type: 'additional_tools', tools: [goal] }, { ...message, role: 'developer' }, message],
      },
      'off',
      'warning',
      'codex adds to every request: the tools get_goal, 1 message, instructions; the model sees it, because PROXY_WIRE=off',
    ],
    ['no request', null, 'on', 'problem', 'codex sent no request to a model server in this process'],
  ])('%s', (_, body, wire, grade, says) => {
    expect(judgePrompt(body, wire)).toMatchObject({ grade, says });
  });

  it('has advice for a server without the relay', () => {
    expect(judgePrompt({ input: [message], tools: [goal] }, 'off').advice).toBe(
      `set PROXY_WIRE=on, or run codex ${TESTED_CODEX}`,
    );
  });
});

describe('serverCheck', () => {
  let server: Server | null = null;
  afterEach(() => {
    server?.close();
    server = null;
  });

  const portOf = async (body: unknown): Promise<number> => {
    server = createServer((_request, response) => response.end(JSON.stringify(body)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };

  it.each<readonly [string, unknown, string, RegExp]>([
    ['ready', { status: 'ready', backend: { state: 'ok' } }, 'ok', /^running at http/],
    ['starting', { status: 'not ready' }, 'warning', /is not ready$/],
    [
      'in trouble',
      { status: 'not ready', backend: { state: 'failing', reason: 'blocked' } },
      'warning',
      /reports that its backend is blocked$/,
    ],
    ['someone else', { hello: 'world' }, 'warning', /^another program answers/],
  ])('%s', async (_, body, grade, says) => {
    const port = await portOf(body);
    expect(await runCheck(serverCheck({ host: '0.0.0.0', port }))).toMatchObject({
      grade,
      says: expect.stringMatching(says),
    });
  });

  it('passes if none is running', async () => {
    const port = await portOf({});
    server?.close();
    await once(server as Server, 'close');
    expect(await runCheck(serverCheck({ host: '127.0.0.1', port }))).toMatchObject({
      grade: 'ok',
      says: `no server is running at http://127.0.0.1:${port}`,
    });
  });
});
