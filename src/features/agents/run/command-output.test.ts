import { expect, it } from 'vitest';

import { readCommandOutput } from './command-output.ts';

it.each([
  [
    'Chunk ID: e61325\nWall time: 0.3558 seconds\nProcess exited with code 1\nOriginal token count: 14\nOutput:\na\nOutput:\nb\n',
    { output: 'a\nOutput:\nb\n', exitCode: 1, durationMs: 356, session: null },
  ],
  [
    'Chunk ID: e61325\nWall time: 10.0010 seconds\nProcess running with session ID 4711\nOriginal token count: 0\nOutput:\n',
    { output: '', exitCode: null, durationMs: 10_001, session: 4711 },
  ],
  ['exec_command failed: CreateProcess { message: "Rejected(\\"rejected by user\\")" }', null],
  ['Plan updated', null],
  ['', null],
])('reads what the model hears of a command: %j', (text, read) => {
  expect(readCommandOutput(text)).toEqual(read);
});
