import { expect, it } from 'vitest';

import { toApiError } from './api-error.ts';

const read = async (body: string, status = 400) => {
  const {
    name,
    message,
    status: shown,
    code,
    param,
    requestId,
  } = await toApiError(
    new Response(body, { status, statusText: 'Odd', headers: { 'x-request-id': 'req_1' } }),
  );
  return { name, message, status: shown, code, param, requestId };
};

it('reads the error body of the API', async () => {
  const error = { message: 'No such key.', type: 'invalid_request_error', param: 'id', code: 'not_found' };
  expect(await read(JSON.stringify({ error }), 404)).toEqual({
    name: 'ApiError',
    message: 'No such key.',
    status: 404,
    code: 'not_found',
    param: 'id',
    requestId: 'req_1',
  });
});

it.each([
  ['<h1>Bad gateway</h1>', 'The server answered with status 502: <h1>Bad gateway</h1>'],
  ['{}', 'The server answered with status 502: {}'],
  ['', 'The server answered with status 502: Odd'],
])('quotes another body: %j', async (body, message) => {
  expect(await read(body, 502)).toMatchObject({ message, status: 502, code: null });
});
