import { expect, it } from 'vitest';

import { ANY_ROUTE } from './model-transport.ts';
import { nextRoute } from './next-route.ts';
import { LostSocketError } from './websocket/lost-socket.ts';

const LOST = new LostSocketError('closed', 'code 1006', false);
const FRESH = { transport: 'any', isFresh: true };
const POST = { transport: 'http', isFresh: true };

it('is a fresh socket after a socket, then a POST', () => {
  const second = nextRoute(ANY_ROUTE, 'websocket', LOST);
  expect(second).toEqual(FRESH);
  expect(nextRoute(second, 'websocket', LOST)).toEqual(POST);
});

it('is a POST if another socket would fail too', () => {
  expect(nextRoute(ANY_ROUTE, 'websocket', new LostSocketError('too-large', 'code 1009', true))).toEqual(
    POST,
  );
});

it('stays a POST, on a fresh connection', () => {
  expect(nextRoute(ANY_ROUTE, 'http', undefined)).toEqual(POST);
});
