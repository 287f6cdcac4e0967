import { readdirSync } from 'node:fs';
import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { keyFor, openConnectRoom, startModelList } from '../../../test/support/connect-room.ts';
import { loadSettings } from '../explain.ts';
import { reachServer } from './server.ts';

const models = await startModelList();
afterAll(() => models.close());

let room: ReturnType<typeof openConnectRoom>;
beforeEach(() => {
  room = openConnectRoom(models.port);
});
afterEach(() => room.close());

const SETTINGS = '.claude/settings.json';

describe('connect makes a key', () => {
  it('for each client, uses it again, and revokes it when it is taken back', async () => {
    await room.run('connect claude --yes');
    expect([room.read(SETTINGS), room.modeOf('state/connect/claude/key')]).toEqual([
      expect.stringContaining(`"ANTHROPIC_AUTH_TOKEN": "${keyFor('claude')}"`),
      0o600,
    ]);
    expect([...models.made]).toContain(keyFor('claude'));
    // It is rejected: another one is made.
    models.made.clear();
    await room.run('connect claude --yes --model gpt-5.5');
    expect([...models.made]).toEqual([keyFor('claude')]);
    const undone = await room.run('connect claude --undo --yes');
    expect(undone.err).toContain(`The key "connect: claude on ${hostname()}" was revoked.`);
    expect([...models.made]).toEqual([]);
  });

  it('and says how to revoke it if the server does not run', async () => {
    await room.run('connect claude --yes');
    const environment = { PORT: '1' };
    room.put('state/connect/claude/key.json', '{"url":"http://127.0.0.1:1","id":"key_1","name":"a"}');
    const { err } = await room.run('connect claude --undo --yes', { environment });
    expect(err).toMatch(/could not be asked to revoke the key "a"\. Revoke it: .* keys .*revoke key_1\n/);
  });
});

describe('connect sends no key to another program at the port', () => {
  /** Everything that was sent to the program. */
  let received: string;
  let answer: (asked: IncomingMessage, respond: (status: number, text: string) => void) => void;
  const other = createServer((asked, response) => {
    received += [asked.url, ...asked.rawHeaders].join(' ');
    asked.on('data', (chunk: Buffer) => (received += chunk.toString()));
    asked.on('end', () =>
      answer(asked, (status, text) => {
        response.statusCode = status;
        response.end(text);
      }),
    );
  });
  let port: string;
  beforeAll(async () => {
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    port = String((other.address() as AddressInfo).port);
  });
  afterAll(() => void other.close());
  beforeEach(() => {
    received = '';
  });

  /** A program that passes everything on to the real server. */
  const relay: typeof answer = ({ url, headers, method }, respond) => {
    const onward = request(
      { port: models.port, path: url, headers, ...(method === undefined ? {} : { method }) },
      (told) => {
        let text = '';
        told.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        told.on('end', () => respond(told.statusCode ?? 0, text));
      },
    );
    onward.end();
  };

  it.each<readonly [string, typeof answer, string]>([
    ['says yes to everything', (_, respond) => respond(200, '{}'), 'does not prove that it knows the key'],
    ['answers with a page', (_, respond) => respond(404, '<html>'), 'does not prove that it knows the key'],
    ['passes the question on', relay, 'is not this server: it passes requests on to it, at 127.0.0.1:'],
    ['is starting', (_, respond) => respond(503, '{}'), 'is starting or stopping: try again.'],
  ])('that %s', async (_, behaviour, message) => {
    answer = behaviour;
    const { code, err } = await room.run('connect claude --yes', { environment: { PORT: port } });
    expect([code, err, readdirSync(room.home)]).toEqual([1, expect.stringContaining(message), ['state']]);
    // Only the user can decide otherwise.
    const url = `--url http://127.0.0.1:${port}`;
    const asked = await room.run(`connect claude ${url}`, { answer: false });
    expect(asked).toMatchObject({ code: 1, asked: expect.stringMatching(/Send it the key\?$/) });
    expect(received).toContain('key-proof');
    expect(received).not.toContain('sk-');
  });

  it('neither does the command mcp', async () => {
    answer = (_, respond) => respond(200, '{}');
    const { code, err } = await room.run('mcp', { environment: { PORT: port } });
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(
        /does not prove that it knows the key .* Nothing was sent to it\. Start this server: /,
      ),
    ]);
    expect(received).not.toContain('sk-');
  });
});

describe('the server of the command mcp', () => {
  const reach = async (url: string | null, environment: Record<string, string> = {}) =>
    reachServer(
      await loadSettings({
        PROXY_STATE_DIR: room.at('state'),
        PORT: String(models.port),
        ...environment,
      }),
      { url, startCommand: 'npm start' },
    );

  it('is the configured one, with the key of the state folder', async () => {
    const url = `http://127.0.0.1:${models.port}`;
    expect(await reach(null)).toEqual({ url, key: room.read('state/api-key').trim() });
    expect(await reach(`${url}/v1/`, { PROXY_API_KEY: 'sk-named' })).toEqual({ url, key: 'sk-named' });
  });

  it('has to run', async () => {
    await expect(reach(null, { PORT: '1' })).rejects.toThrow(
      'No server answers at http://127.0.0.1:1. Start it first: npm start',
    );
    const elsewhere = { PROXY_API_KEY: 'sk-named' };
    await expect(reach('http://nowhere.invalid', elsewhere)).rejects.toThrow(
      'No server answers at http://nowhere.invalid. Start it first: npm start',
    );
  });
});
