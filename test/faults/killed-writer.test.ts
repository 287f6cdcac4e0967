import OpenAI from 'openai';
import { afterAll, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import { openCommandRoom, type RunningCommand } from '../support/command.ts';
import { hello, says } from '../support/scripts.ts';
import { until } from '../support/until.ts';

/** A server that is killed while it writes to a conversation. */

const room = await openCommandRoom();
afterAll(() => room.close());

const KEY = 'sk-test-key-0123456789';
let script: Script = hello;
const model = await room.startModel({
  script: (request, connection) => script(request, connection),
  keepRequests: 10,
});

const start = async (): Promise<{ readonly server: RunningCommand; readonly openai: OpenAI }> => {
  const server = room.start([], { PROXY_API_KEY: KEY, PROXY_UPSTREAM_BASE_URL: model.baseUrl });
  const url = (): string | undefined => /URL\s+(http:\/\/127\.0\.0\.1:\d+)/.exec(server.output.err)?.[1];
  await until(() => url() !== undefined);
  return { server, openai: new OpenAI({ baseURL: `${url()}/v1`, apiKey: KEY, maxRetries: 0 }) };
};

it('leaves a conversation that goes on after a restart', async () => {
  const first = await start();
  const { id } = await first.openai.conversations.create({ items: [{ role: 'user', content: 'a' }] });
  await first.openai.responses.create({ model: 'gpt-5.5', input: 'b', conversation: id });
  script = says([{ text: 'half' }, { hang: true }]);
  const cut = first.openai.responses.create({ model: 'gpt-5.5', input: 'c', conversation: id });
  cut.catch(() => {});
  await until(() => model.requests.length === 2);
  first.server.child.kill('SIGKILL');
  await expect(cut).rejects.toThrow('Connection error');
  script = hello;
  const second = await start();
  // The lock of the dead process is waited for.
  await second.openai.responses.create({ model: 'gpt-5.5', input: 'd', conversation: id });
  const { data } = await second.openai.conversations.items.list(id, { order: 'asc' });
  const said = 'Hello from the scripted model.';
  expect(data.map((item) => item.type === 'message' && (item.content[0] as { text: string }).text)).toEqual([
    'a',
    'b',
    said,
    'd',
    said,
  ]);
}, 60_000);
