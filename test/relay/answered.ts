import type { Script } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import type { TestProxy } from '../support/proxy.ts';

export const ASK = { model: 'gpt-5.5', input: 'hi' } as const;

/** What a client sees of an error, with the headers that a test names. */
export interface Expected {
  readonly status: number;
  readonly error: Record<string, unknown>;
  readonly headers?: Record<string, string | null>;
}

export type Case = readonly [what: string, script: Script, expected: Expected];

/** What a client sees when the plan of an account is used up for an hour. */
export const USED_UP: Expected = {
  status: 429,
  error: {
    message:
      'The backend refused: the account that this server uses has reached its limit, until {time}. It said: The usage limit has been reached',
    type: 'insufficient_quota',
    param: null,
    code: 'insufficient_quota',
  },
  headers: { 'retry-after': '3600', 'x-should-retry': 'false' },
};

export const replies =
  (status: number, body: JsonObject | string, headers: Record<string, string> = {}): Script =>
  (_request, connection) =>
    connection.reply(status, body, headers);

/** Fails in the first event of the stream. */
export const fails =
  (error: JsonObject): Script =>
  (_request, connection) => {
    connection.event({ type: 'response.created', response: { id: 'resp_1' } });
    connection.event({ type: 'response.failed', response: { id: 'resp_1', status: 'failed', error } });
  };

/** In messages, `{host}` is the backend's host and `{time}` a time. */
export const answered = async (
  proxy: TestProxy,
  [, script, expected]: Case,
  stream: boolean,
): Promise<Expected> => {
  proxy.use(script);
  const response = await proxy.post('/v1/responses', { ...ASK, stream });
  const { error } = (await response.json()) as { error: Record<string, unknown> };
  const message = String(error['message'])
    .replace(new URL(proxy.model.baseUrl).host, '{host}')
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/, '{time}');
  const told = { status: response.status, error: { ...error, message } };
  if (expected.headers === undefined) return told;
  const names = Object.keys(expected.headers);
  return { ...told, headers: Object.fromEntries(names.map((name) => [name, response.headers.get(name)])) };
};
