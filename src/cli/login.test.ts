import { describe, expect, it } from 'vitest';

import { withOurCommand } from './login.ts';

describe('withOurCommand', () => {
  it.each([
    [
      'On a remote or headless machine? Use `codex login --device-auth` instead.\n',
      'On a remote or headless machine? Use `npm run login -- --device` instead.\n',
    ],
    [
      'Starting local login server on http://localhost:1455.\n',
      'Starting local login server on http://localhost:1455.\n',
    ],
  ])('replaces the command of codex: %j', (line, expected) => {
    expect(withOurCommand(line, 'npm run login -- --device')).toBe(expected);
  });
});
