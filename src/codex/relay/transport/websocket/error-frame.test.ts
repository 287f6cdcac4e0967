import { expect, it } from 'vitest';

import { readErrorFrame, toFailedEvent } from './error-frame.ts';

const ERROR = { type: 'usage_limit_reached', message: 'The usage limit has been reached', resets_at: 1 };

it('is an answer with a status, headers and a body', () => {
  const headers = {
    'X-Codex-Primary-Used-Percent': 100,
    'retry-after': '3',
    'content-length': '5',
    'a b': 'c',
    x: {},
  };
  expect(readErrorFrame({ type: 'error', status: 429, error: ERROR, headers })).toEqual({
    status: 429,
    headers: { 'x-codex-primary-used-percent': '100', 'retry-after': '3' },
    body: { error: ERROR },
    isAgeLimit: false,
    isDuplicateItem: false,
  });
});

it('reads the other names of a status, and none', () => {
  expect(readErrorFrame({ type: 'error', status_code: 503 }).status).toBe(503);
  for (const status of [200, '429', 429.5, undefined])
    expect(readErrorFrame({ type: 'error', ...(status === undefined ? {} : { status }) }).status).toBe(null);
});

it('recognises what another socket would not report', () => {
  const limit = { code: 'websocket_connection_limit_reached' };
  const duplicate = { message: 'Duplicate item found with id msg_1. Remove it.' };
  expect(readErrorFrame({ type: 'error', status: 400, error: limit }).isAgeLimit).toBe(true);
  expect(readErrorFrame({ type: 'error', status: 400, error: duplicate }).isDuplicateItem).toBe(true);
});

it('becomes the last event of a stream', () => {
  expect(toFailedEvent(readErrorFrame({ type: 'error', status: 500, error: ERROR }))).toEqual({
    type: 'response.failed',
    status: 500,
    response: { object: 'response', status: 'failed', error: ERROR },
  });
  expect(toFailedEvent(readErrorFrame({ type: 'error', detail: 'Bad' }))).toMatchObject({
    response: { error: { message: 'Bad' } },
  });
});
