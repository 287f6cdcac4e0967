import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../kit/json/json.ts';
import { TESTED_CODEX } from '../../version.ts';
import { judgeCodex, judgePrompt } from './codex-check.ts';

const BUBBLEWRAP = 'Codex could not find bubblewrap on PATH. Install it.';
const codex = (runs: string | null, ...warnings: readonly string[]) => ({ tested: '1.2.3', runs, warnings });

describe('what codex said at its start', () => {
  it.each([
    ['nothing', codex('1.2.3'), true, 'ok', 'starts, codex 1.2.3'],
    [
      'that it has no sandbox, which is not used',
      codex('1.2.3', BUBBLEWRAP),
      true,
      'ok',
      'starts, codex 1.2.3\ncodex has not found bubblewrap, which only its own tools need: they are off',
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
