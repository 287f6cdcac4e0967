import { expect, it } from 'vitest';

import { endToEnd } from './end-to-end-headers.ts';

it('removes hop-by-hop headers and those listed in `connection`', () => {
  expect(
    endToEnd({
      host: '127.0.0.1:1',
      connection: 'keep-alive, X-Only-Here',
      'keep-alive': 'timeout=5',
      'x-only-here': 'yes',
      'transfer-encoding': 'chunked',
      te: 'trailers',
      trailer: 'x-sum',
      upgrade: 'h2c',
      expect: '100-continue',
      'proxy-authorization': 'Basic eA==',
      'content-length': '3',
      accept: 'text/event-stream',
      'set-cookie': ['a=1', 'b=2'],
    }),
  ).toEqual({ 'content-length': '3', accept: 'text/event-stream', 'set-cookie': ['a=1', 'b=2'] });
});
