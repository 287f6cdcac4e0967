import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { openThread, startAppServer } from '../support/app-server-client.ts';
import { openCodexRoom, openProviderRoom, type CodexRoom, type ExecResult } from '../support/codex-exec.ts';
import { freshProxies, openProxy } from '../support/open-proxy.ts';
import type { TestProxy } from '../support/proxy.ts';
import {
  contextLengthExceeded,
  cutMidStream,
  hello,
  http400,
  http500,
  inTurn,
  says,
  usageLimit,
} from '../support/scripts.ts';

/** The real codex over one WebSocket: `supports_websockets` in the table of its provider. */
const proxy = await openProxy(hello);
const start = freshProxies();
const rooms: CodexRoom[] = [];
afterAll(() => Promise.all(rooms.map((room) => room.close())));

const openRoom = async (at: TestProxy = proxy, model = 'gpt-5.5'): Promise<CodexRoom> => {
  const room = await openProviderRoom({
    baseUrl: `${at.url}/v1`,
    key: at.key,
    model,
    ofProvider: 'supports_websockets = true\nrequest_max_retries = 0\nstream_max_retries = 2',
    settings: 'approval_policy = "never"\nsandbox_mode = "danger-full-access"\n',
  });
  rooms.push(room);
  return room;
};

const errorsOf = ({ err }: ExecResult): readonly string[] => [
  ...new Set(err.split('\n').filter((line) => line.startsWith('ERROR: '))),
];

/** The lines of the access log about WebSockets, as `method status`. */
const lines = (at: TestProxy): readonly string[] =>
  at.log.flatMap(({ msg, method, status }) =>
    msg === 'request' && method !== 'POST' ? [`${String(method)} ${String(status)}`] : [],
  );

/** Has codex run a command, after a while, and then says something. */
const runsCommand = (waitMs = 0): Script =>
  inTurn(
    says([
      { wait: waitMs },
      { call: { name: 'exec_command', arguments: { cmd: 'echo done > made.txt' }, callId: 'call_1' } },
    ]),
    says([{ text: 'It is done.' }]),
  );

describe('codex exec over a WebSocket', () => {
  it('warms up, and sends the rest as it comes: commands and their outputs', async () => {
    const at = await start(runsCommand());
    const room = await openRoom(at);
    const result = await room.exec('Make a file.');
    expect(result).toMatchObject({ code: 0, out: 'It is done.\n' });
    expect((await readFile(path.join(room.work, 'made.txt'), 'utf8')).trim()).toBe('done');
    // One upgrade, the warm-up, the question, the output.
    expect(lines(at)).toEqual(['GET 101', 'WEBSOCKET 200', 'WEBSOCKET 200', 'WEBSOCKET 200']);
    const requests = at.log.filter(({ method }) => method === 'WEBSOCKET');
    expect(requests.map(({ client }) => (client as JsonObject)['family'])).toEqual([
      'codex',
      'codex',
      'codex',
    ]);
    // The model gets everything, although codex has sent it in three parts.
    expect(at.model.requests).toHaveLength(2);
    const [first, second] = at.model.requests.map(({ body }) => body['input'] as readonly JsonObject[]);
    expect(second?.slice(0, first?.length)).toEqual(first);
    expect(second?.slice(first?.length).map(({ type }) => type)).toEqual([
      'function_call',
      'function_call_output',
    ]);
    const closed = at.log.find(({ msg }) => msg === 'websocket closed');
    expect(closed === undefined || closed['requests'] === 3).toBe(true);
  });

  it('warms up without any input for its newest models', async () => {
    const at = await start(hello);
    const result = await (await openRoom(at, 'gpt-6.1-sol')).exec('Hello?');
    expect(result.code).toBe(0);
    expect(lines(at)).toEqual(['GET 101', 'WEBSOCKET 200', 'WEBSOCKET 200']);
    expect(at.model.requests).toHaveLength(1);
  });

  it.each([
    ['a wrong value', http400(), [/^ERROR: \{/]],
    ['used up', usageLimit(3600), [/^ERROR: You.ve hit your usage limit\. Try again at /]],
    ['out of order', http500, [/Reconnecting/, /^ERROR: .*The upstream at /]],
    ['too long', contextLengthExceeded, [/^ERROR: Codex ran out of room in the model's context window/]],
  ])('shows its user what is wrong: %s', async (_, script, expected) => {
    proxy.use(script);
    const result = await (await openRoom()).exec('Hello?');
    expect(result).toMatchObject({ code: 1, out: '' });
    const errors = errorsOf(result);
    for (const one of expected) expect(errors).toContainEqual(expect.stringMatching(one));
    proxy.use(hello);
  });

  it('shows its user that the key is wrong, without the key itself', async () => {
    const room = await openRoom({ ...proxy, key: 'sk-this-is-the-wrong-one' });
    const result = await room.exec('Hello?');
    expect(result.code).toBe(1);
    expect(errorsOf(result).at(-1)).toMatch(/401 Unauthorized/);
    expect(result.err).not.toContain('sk-this-is-the-wrong-one');
  });

  it('asks again after an answer was cut off', async () => {
    proxy.use(inTurn(cutMidStream, says([{ text: 'Whole again.' }])));
    const result = await (await openRoom()).exec('Hello?');
    expect(result).toMatchObject({ code: 0, out: 'Whole again.\n' });
    proxy.use(hello);
  });

  it('goes on over another connection when the time of the first is over', async () => {
    const at = await start(runsCommand(3_000), {}, { times: { socketMaxAgeMs: 2_500 } });
    const result = await (await openRoom(at)).exec('Make a file.');
    expect(result).toMatchObject({ code: 0, out: 'It is done.\n' });
    const refused = at.log.filter(({ errorCode }) => errorCode === 'websocket_connection_limit_reached');
    expect(refused.map(({ method, status }) => [method, status])).toEqual([['WEBSOCKET', 400]]);
    expect(lines(at).filter((line) => line === 'GET 101')).toHaveLength(2);
    expect(at.model.requests).toHaveLength(2);
  });

  it('sends everything again when its connection has forgotten the conversation', async () => {
    const at = await start(runsCommand(), { PROXY_WEBSOCKET_MEMORY_MB: '0' });
    const result = await (await openRoom(at)).exec('Make a file.');
    expect(result).toMatchObject({ code: 0, out: 'It is done.\n' });
    const unknown = at.log.filter(({ errorCode }) => errorCode === 'previous_response_not_found');
    expect(unknown.length).toBeGreaterThan(0);
    expect(at.model.requests).toHaveLength(2);
  });

  it('with its own provider needs no setting', async () => {
    const at = await start(hello);
    const room = await openCodexRoom(`model = "gpt-5.5"\nopenai_base_url = "${at.url}/v1"\n`, {
      CODEX_API_KEY: at.key,
    });
    rooms.push(room);
    expect(await room.exec('Hello?')).toMatchObject({ code: 0, out: 'Hello from the scripted model.\n' });
    expect(lines(at)).toEqual(['GET 101', 'WEBSOCKET 200', 'WEBSOCKET 200']);
  });

  it('goes on over HTTP where there are no WebSockets', async () => {
    const at = await start(hello, { PROXY_MAX_WEBSOCKETS: '0' });
    expect(await (await openRoom(at)).exec('Hello?')).toMatchObject({ code: 0 });
    expect(lines(at)).toEqual(['GET 426']);
  });
});

describe('codex app-server over a WebSocket', () => {
  it('keeps its connection through pings, and uses it for many turns', async () => {
    const at = await start(hello, {}, { times: { socketPingMs: 200 } });
    const client = await startAppServer(await openRoom(at));
    const { say } = await openThread(client);
    expect(await say('One.')).toBe('completed');
    await new Promise((resolve) => {
      setTimeout(resolve, 1_000);
    });
    expect(await say('Two.')).toBe('completed');
    await client.close();
    expect(lines(at).filter((line) => line === 'GET 101')).toHaveLength(1);
    const said = at.model.requests.at(-1)?.body['input'] as readonly JsonObject[];
    expect(JSON.stringify(said)).toContain('"One."');
    expect(JSON.stringify(said)).toContain('"Two."');
  });
});
