import { expect, it } from 'vitest';

import type { SteerListener } from '../canonical/context/turn-context.ts';
import { failureOf, gatewayError } from '../canonical/failure/failure.ts';
import { RunningResponses } from './running-responses.ts';
import { FREE_PASS, type GatePass } from './turn-gate.ts';

const codeOf = (asking: Promise<void>): Promise<string> =>
  asking.then(
    () => 'steered',
    (error: unknown) => failureOf(error).code,
  );

const { signal } = new AbortController();
const NOTHING_KNOWN = Promise.resolve(null);

/** A response of ann, whose parts are noted. */
const open = (different: Partial<GatePass> = {}, listener: Partial<SteerListener> = {}) => {
  const running = new RunningResponses();
  const parts: string[] = [];
  const response = running.open('resp_1', 'ann');
  const pass: GatePass = {
    ...FREE_PASS,
    steer: (chars) =>
      Promise.resolve({
        begin: () => void parts.push(`begun ${chars}`),
        giveBack: () => void parts.push(`given back ${chars}`),
      }),
    ...different,
  };
  return {
    running,
    response,
    parts,
    enter: () => response.countBy(Promise.resolve(pass)),
    listen: () => response.listen({ refusal: () => null, onInput: () => parts.push('input'), ...listener }),
    steer: (text: string, caller = 'ann') =>
      codeOf(running.steer('resp_1', { caller, texts: [text], signal })),
  };
};

it('lets the caller speak to its own response, once it answers and until it ends', async () => {
  const { running, response, parts, enter, listen, steer } = open();
  expect(await steer('early')).toBe('response_not_steerable');
  enter();
  expect(await steer('early')).toBe('response_not_steerable');
  const close = listen();
  expect([await steer('Go on.'), await steer('no', 'bob')]).toEqual(['steered', 'response_not_found']);
  expect([await steer('And on.'), response.hasInput()]).toEqual(['steered', true]);
  expect(response.take(NOTHING_KNOWN)).toEqual([['Go on.'], ['And on.']]);
  // Both are read by one model request.
  expect(parts).toEqual(['input', 'input', 'begun 6', 'given back 7']);
  await steer('unread');
  close();
  expect([response.hasInput(), parts.at(-1)]).toEqual([false, 'given back 6']);
  expect(await steer('late')).toBe('response_not_steerable');
  running.close('resp_1');
  expect(await steer('late')).toBe('response_not_found');
});

it('refuses what the key may not use, and what cannot interrupt the model', async () => {
  const used = open({ steer: () => Promise.reject(gatewayError('concurrency_limit')) });
  used.enter();
  used.listen();
  expect([await used.steer('Go on.'), used.response.hasInput()]).toEqual(['concurrency_limit', false]);
  let asked = 0;
  // It ends while the reservation is made.
  const ending = open(
    {},
    { refusal: () => ((asked += 1) === 1 ? null : gatewayError('response_not_steerable')) },
  );
  ending.enter();
  ending.listen();
  expect([await ending.steer('Go on.'), ending.parts]).toEqual(['response_not_steerable', ['given back 6']]);
});

it('takes only so much for one response', async () => {
  const { enter, listen, steer, parts } = open();
  enter();
  listen();
  const long = 'x'.repeat(1024 * 1024);
  const said = await Promise.all(Array.from({ length: 9 }, () => steer(long)));
  expect([said.at(6), said.at(-1), parts.length]).toEqual(['steered', 'response_not_steerable', 7]);
});
