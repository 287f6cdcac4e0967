import { Readable } from 'node:stream';

import { expect, it } from 'vitest';

import { collect } from '../../test/support/turn-events.ts';
import { linesOf } from './mcp.ts';

it.each<readonly [string, readonly string[], readonly (string | null)[]]>([
  ['lines in one piece', ['a\nb\n'], ['a', 'b']],
  ['lines in pieces', ['a', 'b\nc', '\n', 'd'], ['ab', 'c', 'd']],
  ['an empty line', ['\n\na\n'], ['', '', 'a']],
  ['nothing', [], []],
  ['a line that is too long', ['123456\n12345\n'], [null, '12345']],
  ['one in pieces', ['123', '456', '789\nok\n'], [null, 'ok']],
  ['one at the end', ['ok\n123456'], ['ok', null]],
])('reads %s', async (_name, pieces, lines) => {
  const stream = Readable.from(pieces.map((piece) => Buffer.from(piece)));
  expect(await collect(linesOf(stream, 5))).toEqual(lines);
});
