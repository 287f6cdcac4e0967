import { expect, it } from 'vitest';

import { ok, runCheck, type Check } from './finding.ts';

const check = (run: Check['run'], limitMs = 60_000): Check => ({ name: 'it', limitMs, run });

it('makes a finding of whatever happens', async () => {
  expect(await runCheck(check(() => ok('well')))).toEqual(ok('well'));
  expect(
    await runCheck(
      check(() => {
        throw new Error('broke with Bearer abc123');
      }),
    ),
  ).toMatchObject({ grade: 'problem', says: 'broke with Bearer ***' });
});

it('does not wait for ever, and tells the check that nobody does', async () => {
  let signal: AbortSignal | null = null;
  const silent = check((given) => {
    signal = given;
    return new Promise(() => {});
  }, 10);
  expect(await runCheck(silent)).toMatchObject({ grade: 'problem', says: 'no answer within 0.01 s' });
  expect((signal as AbortSignal | null)?.aborted).toBe(true);
});
