import { describe, expect, it } from 'vitest';

import { encodeMessage, parseMessage } from './message.ts';

describe('parseMessage', () => {
  it.each([
    ['{"id":1,"method":"m","params":{"a":1}}', { kind: 'request', id: 1, method: 'm', params: { a: 1 } }],
    ['{"id":"x","method":"m"}', { kind: 'request', id: 'x', method: 'm', params: undefined }],
    ['{"method":"m","params":[]}', { kind: 'notification', method: 'm', params: [] }],
    ['{"jsonrpc":"2.0","method":"m"}', { kind: 'notification', method: 'm', params: undefined }],
    ['{"id":0,"result":null}', { kind: 'result', id: 0, result: null }],
    [
      '{"id":1,"error":{"code":-32600,"message":"no"}}',
      { kind: 'error', id: 1, error: { code: -32_600, message: 'no' } },
    ],
    [
      '{"id":1,"error":{"code":1,"message":"no","data":{"why":"so"}}}',
      { kind: 'error', id: 1, error: { code: 1, message: 'no', data: { why: 'so' } } },
    ],
    ['', { kind: 'malformed', reason: 'not JSON' }],
    ['{"method":"m"', { kind: 'malformed', reason: 'not JSON' }],
    ['null', { kind: 'malformed', reason: 'not an object' }],
    ['[1]', { kind: 'malformed', reason: 'not an object' }],
    ['{}', { kind: 'malformed', reason: 'neither a method nor an id' }],
    ['{"id":null,"result":1}', { kind: 'malformed', reason: 'neither a method nor an id' }],
    ['{"id":null,"method":"m"}', { kind: 'malformed', reason: 'a request with an odd id' }],
    ['{"method":7}', { kind: 'malformed', reason: 'a method that is not a string' }],
    ['{"id":1}', { kind: 'malformed', reason: 'an answer without result and error' }],
    ['{"id":1,"error":"no"}', { kind: 'malformed', reason: 'an error that is not an object' }],
    ['{"id":1,"error":{"code":"1"}}', { kind: 'malformed', reason: 'an error without code and message' }],
  ])('%s', (line, expected) => {
    expect(parseMessage(line)).toEqual(expected);
  });

  it('reads back what encodeMessage writes, on one line', () => {
    const line = encodeMessage({ id: 3, method: 'turn/start', params: { text: 'two\nlines' } });
    expect([line, parseMessage(line)]).toEqual([
      '{"id":3,"method":"turn/start","params":{"text":"two\\nlines"}}',
      { kind: 'request', id: 3, method: 'turn/start', params: { text: 'two\nlines' } },
    ]);
  });
});
