import { describe, expect, it } from 'vitest';

import { explain, explainListening, PlainError } from './explain.ts';

const systemError = (fields: Partial<NodeJS.ErrnoException>): Error =>
  Object.assign(new Error('failed'), fields);
const AT = { host: '127.0.0.1', port: 80 };

describe('explain', () => {
  it.each<readonly [unknown, string | null]>([
    [new PlainError('Do this.'), 'Do this.'],
    [
      systemError({ code: 'EACCES', syscall: 'mkdir', path: '/x' }),
      'Cannot use /x (EACCES): check PROXY_STATE_DIR, PROXY_CODEX_WORKDIR and CODEX_HOME.',
    ],
    // A bug keeps its stack.
    [new TypeError('x is not a function'), null],
    [systemError({ code: 'ERR_INVALID_ARG_TYPE' }), null],
  ])('%s', (error, expected) => {
    expect(explain(error)).toBe(expected);
  });
});

describe('explainListening', () => {
  it.each<readonly [string, RegExp]>([
    ['EADDRINUSE', /^Port 80 on 127\.0\.0\.1 is in use/],
    ['EACCES', /^This user is not allowed to use port 80/],
    ['EADDRNOTAVAIL', /^Cannot listen on 127\.0\.0\.1, port 80 \(EADDRNOTAVAIL\): check PROXY_HOST\.$/],
  ])('%s', (code, says) => {
    expect(explain(explainListening(systemError({ code, syscall: 'listen' }), AT))).toMatch(says);
  });

  it('ignores other errors', () => {
    const other = new Error('odd');
    expect(explainListening(other, AT)).toBe(other);
  });
});
