import { expect, it } from 'vitest';

import { ok, problem, runCheck, type Check } from './finding.ts';

const check = (run: Check['run'], limitMs = 60_000): Check => ({ name: 'it', limitMs, run });

it('turns every outcome into a finding', async () => {
  expect(await runCheck(check(() => ok('well')))).toEqual(ok('well'));
  expect(
    await runCheck(
      check(() => {
        throw new Error('broke with Bearer abc123');
      }),
    ),
  ).toMatchObject({ grade: 'problem', says: 'broke with Bearer ***' });
});

it('escapes control characters and truncates long text', async () => {
  const said = '\u001b[2J\u001b]0;title\u0007\r\u009b31m\u202eok';
  const shown = String.raw`\u001b[2J\u001b]0;title\u0007\r\u009b31m\u202eok`;
  expect(await runCheck(check(() => problem(said, said, { model: said })))).toEqual(
    problem(shown, shown, { model: shown }),
  );
  const { says } = await runCheck(check(() => ok('x'.repeat(5_000_000))));
  expect(says).toBe(`${'x'.repeat(2_000)} …`);
});

it('times out and aborts the check', async () => {
  let signal: AbortSignal | null = null;
  const silent = check((given) => {
    signal = given;
    return new Promise(() => {});
  }, 10);
  expect(await runCheck(silent)).toMatchObject({ grade: 'problem', says: 'no answer within 0.01 s' });
  expect((signal as AbortSignal | null)?.aborted).toBe(true);
});
