import { describe, expect, it } from 'vitest';

import { withoutInternals } from './safe-message.ts';

describe('withoutInternals', () => {
  it.each([
    ['bad key, url: http://127.0.0.1:4711/v1/responses', 'bad key'],
    ['see https://example.org/x for more', 'see for more'],
    ['cannot read /root/.codex/auth.json now', 'cannot read … now'],
    ['either/or is not a path', 'either/or is not a path'],
    ['and/or a/b/c', 'and/or a/b/c'],
    ['nothing to hide', 'nothing to hide'],
  ])('%s', (message, expected) => {
    expect(withoutInternals(message)).toBe(expected);
  });

  // codex's own message for a used-up plan.
  it('leaves a readable sentence', () => {
    const message =
      "You've hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/codex/settings/usage to purchase more credits or try again later.";
    expect(withoutInternals(message)).not.toMatch(/\( |visit to/);
  });
});
