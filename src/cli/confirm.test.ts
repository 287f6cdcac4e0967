import { PassThrough } from 'node:stream';

import { expect, it } from 'vitest';

import { confirmOn } from './confirm.ts';

const terminal = (typed: string): PassThrough & { readonly isTTY: boolean } => {
  const input = Object.assign(new PassThrough(), { isTTY: true });
  input.end(typed);
  return input;
};

it.each([
  ['y\n', true],
  [' YES \n', true],
  ['n\n', false],
  ['yesterday\n', false],
  ['\n', false],
  ['', false],
])('%j at a terminal means %j', async (typed, expected) => {
  const output = new PassThrough();
  expect(await confirmOn(terminal(typed), output)('Write this?')).toBe(expected);
  expect(String(output.read())).toBe('Write this? [y/N] ');
});

it('asks nothing without a terminal', async () => {
  const output = new PassThrough();
  expect(await confirmOn(new PassThrough(), output)('Write this?')).toBeNull();
  expect(output.read()).toBeNull();
});
