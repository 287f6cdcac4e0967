import { expect, it } from 'vitest';

import { failureOf } from '../canonical/failure/failure.ts';
import { RunningResponses } from './running-responses.ts';

const codeOf = (asking: Promise<void>): Promise<string> =>
  asking.then(
    () => 'steered',
    (error: unknown) => failureOf(error).code,
  );

it('lets the caller speak to its own response, once it answers and until it ends', async () => {
  const running = new RunningResponses();
  const said: string[] = [];
  const steer = (caller: string): Promise<string> => codeOf(running.steer('resp_1', caller, [caller]));
  expect(await steer('ann')).toBe('response_not_found');
  const response = running.open('resp_1', 'ann');
  expect(await steer('ann')).toBe('response_not_steerable');
  response.onSteerable(async (texts) => void said.push(...texts));
  expect([await steer('ann'), await steer('bob')]).toEqual(['steered', 'response_not_found']);
  response.end();
  expect([await steer('ann'), said]).toEqual(['response_not_found', ['ann']]);
});

it('takes only so much for one response', async () => {
  const running = new RunningResponses();
  let heard = 0;
  running.open('resp_1', 'ann').onSteerable(async () => void (heard += 1));
  const long = 'x'.repeat(1024 * 1024);
  const said = await Promise.all(
    Array.from({ length: 9 }, () => codeOf(running.steer('resp_1', 'ann', [long]))),
  );
  expect([said.at(6), said.at(-1), heard]).toEqual(['steered', 'response_not_steerable', 7]);
});
