import { chmodSync, existsSync, readdirSync } from 'node:fs';
import { hostname } from 'node:os';

import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';

import { serverFacts } from '../../test/support/connect-facts.ts';
import {
  keyFor,
  MCP_PLACES,
  openConnectRoom,
  PLACES,
  startModelList,
} from '../../test/support/connect-room.ts';
import type { ConnectClient } from '../connect/client.ts';
import { CLIENTS } from '../connect/clients.ts';

const models = await startModelList();
afterAll(() => models.close());

let room: ReturnType<typeof openConnectRoom>;
beforeEach(() => {
  room = openConnectRoom(models.port);
});
afterEach(() => room.close());

const SETTINGS = '.claude/settings.json';

describe('every client', () => {
  it.each(Object.entries<ConnectClient>(CLIENTS))('has a page and a round-trip test: %s', (name, client) => {
    const hasPage =
      client.page === null || existsSync(new URL(`../../docs/clients/${client.page}`, import.meta.url));
    expect(
      hasPage,
      `connect ${name} has no page: write docs/clients/${client.page}, and list it in its index.`,
    ).toBe(true);
    expect(
      client.mcp === undefined || Object.hasOwn(MCP_PLACES, name),
      `connect ${name} --mcp has no round-trip test: add its file to MCP_PLACES in test/support/connect-room.ts.`,
    ).toBe(true);
    const writesFiles = client.files(serverFacts()).length > 0;
    expect(
      Object.hasOwn(PLACES, name) || !writesFiles,
      `connect ${name} writes files that no test takes back: add its files to PLACES in test/support/connect-room.ts.`,
    ).toBe(true);
  });
});

describe.each(Object.entries(PLACES))('connect %s', (name, places) => {
  it('writes private files, and takes back every byte', async () => {
    const shown = await room.run(`connect ${name} --yes`);
    expect(shown).toMatchObject({ code: 0, out: '', asked: '' });
    expect(shown.err).not.toMatch(/sk-proxy-/);
    expect(places.map((place) => room.modeOf(place))).toEqual(places.map(() => 0o600));
    expect(places.map((place) => room.read(place)).join('')).toContain(`127.0.0.1:${models.port}`);
    const again = await room.run(`connect ${name} --yes`);
    expect(again).toMatchObject({ code: 0, err: expect.stringContaining('is connected already') });
    expect(await room.run(`connect ${name} --undo --yes`)).toMatchObject({ code: 0, asked: '' });
    expect(readdirSync(room.home)).toEqual(['state']);
    expect(readdirSync(room.at('state'))).toEqual(['api-key', 'connect']);
  });

  it('prints the same settings with --print, and writes nothing', async () => {
    const { code, out } = await room.run(`connect ${name} --print`);
    expect([code, readdirSync(room.home)]).toEqual([0, ['state']]);
    await room.run(`connect ${name} --yes`);
    const parsed = (text: string): string => text.replaceAll(/\s/g, '');
    expect(parsed(out)).toBe(parsed(places.map((place) => room.read(place)).join('')));
  });
});

describe.each(Object.entries(MCP_PLACES))('connect %s --mcp', (name, place) => {
  it('writes a private file, and takes back every byte', async () => {
    const shown = await room.run(`connect ${name} --mcp --yes --workspaces demo --workspaces docs`);
    expect(shown).toMatchObject({ code: 0, out: '', asked: '' });
    expect(shown.err).not.toMatch(/sk-proxy-/);
    expect([room.modeOf(place), models.workspaces.get(`${name}-mcp`)]).toEqual([0o600, ['demo', 'docs']]);
    expect(room.read(place)).toContain(`http://127.0.0.1:${models.port}/mcp`);
    const again = await room.run(`connect ${name} --mcp --yes --workspaces *`);
    expect(again).toMatchObject({ code: 0, err: expect.stringContaining('is connected already') });
    expect(models.workspaces.get(`${name}-mcp`)).toEqual(['*']);
    const listed = await room.run('connect');
    expect(listed.out).toMatch(new RegExp(`^${name} +not connected +.*\n {2}--mcp +connected$`, 'm'));
    expect(await room.run(`connect ${name} --mcp --undo --yes`)).toMatchObject({ code: 0, asked: '' });
    expect([readdirSync(room.home), models.made.has(keyFor(`${name}-mcp`))]).toEqual([['state'], false]);
  });

  it('stays when the models of the client are set up, and goes alone', async () => {
    await room.run(`connect ${name} --mcp --yes`);
    const alone = room.read(place);
    await room.run(`connect ${name} --yes`);
    expect(await room.run(`connect ${name} --undo --yes`)).toMatchObject({ code: 0 });
    expect(room.read(place).replaceAll(/\s/g, '')).toBe(alone.replaceAll(/\s/g, ''));
    await room.run(`connect ${name} --yes`);
    const places = PLACES[name] ?? [];
    expect(await room.run(`connect ${name} --mcp --undo --yes`)).toMatchObject({ code: 0 });
    expect(places.map((one) => room.read(one)).join('')).toContain(`127.0.0.1:${models.port}`);
    expect(places.map((one) => room.read(one)).join('')).not.toContain('/mcp');
  });
});

describe('connect --mcp', () => {
  it('says that a key without workspaces has no codex', async () => {
    const { err } = await room.run('connect claude --mcp --yes');
    expect(err).toContain('The key of this client may use no workspace');
    expect(models.workspaces.get('claude-mcp')).toBe(undefined);
  });

  it('writes the file that a variable of Cline names', async () => {
    const file = room.at('elsewhere.json');
    const environment = { CLINE_MCP_SETTINGS_PATH: file };
    await room.run('connect cline --mcp --yes', { environment });
    expect(JSON.parse(room.read('elsewhere.json'))).toEqual({
      mcpServers: {
        'codex-app-server-proxy': {
          type: 'streamableHttp',
          url: `http://127.0.0.1:${models.port}/mcp`,
          headers: { Authorization: `Bearer ${keyFor('cline-mcp')}` },
          timeout: 3600,
        },
      },
    });
  });

  it.each([
    ['connect pi --mcp', '--mcp is for: claude, codex, opencode, cline.'],
    ['connect claude --mcp --run', '--mcp and --run exclude each other.'],
    ['connect claude --mcp --model m', '--model has no meaning with --mcp.'],
    ['connect claude --workspaces demo', '--workspaces needs --mcp.'],
    ['connect claude --mcp --undo --workspaces demo', '--workspaces has no meaning with --undo.'],
  ])('%s: wrong usage', async (line, message) => {
    expect(await room.run(line)).toMatchObject({ code: 2, err: expect.stringContaining(message) });
  });
});

it.each(['', 'home'])('does not write below HOME=%s, which is in the current folder', async (HOME) => {
  const { code, err } = await room.run('connect claude --yes', { environment: { HOME } });
  expect([code, err]).toEqual([
    1,
    expect.stringContaining('HOME is not an absolute path: set it to your home folder.'),
  ]);
});

describe('connect asks', () => {
  it('shows the change without the key and writes it after a yes', async () => {
    room.put(SETTINGS, '{\n  "model": "opus"\n}\n');
    const { code, err, asked } = await room.run('connect claude', { answer: true });
    expect([code, asked]).toEqual([0, 'Write this?']);
    expect(err).toContain(
      `${room.at(SETTINGS)}\n  {\n-   "model": "opus"\n+   "model": "opus",\n+   "env": {\n`,
    );
    expect(err).toContain('+     "ANTHROPIC_AUTH_TOKEN": "***",\n');
    expect(room.read(SETTINGS)).toContain('"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "300000"');
  });

  it.each([
    [false, 'Nothing was written.\n'],
    [null, 'Nothing was written: without a terminal, add --yes.\n'],
  ])('writes nothing after %j', async (answer, message) => {
    const { code, err } = await room.run('connect claude', { answer });
    expect([code, readdirSync(room.home)]).toEqual([1, ['state']]);
    expect(err).toContain(message);
    expect(err).toMatch(/claude --undo\n$/);
    await room.run('connect claude --yes');
    const before = room.read(SETTINGS);
    expect(await room.run('connect claude --undo', { answer })).toMatchObject({ code: 1 });
    expect(room.read(SETTINGS)).toBe(before);
  });
});

describe('connect prints variables', () => {
  it.each([
    [
      'env',
      `export OPENAI_BASE_URL='http://127.0.0.1:PORT/v1'\nexport OPENAI_API_KEY='${keyFor('env')}'\nexport ANTHROPIC_BASE_URL='http://127.0.0.1:PORT'\nexport ANTHROPIC_AUTH_TOKEN='${keyFor('env')}'\n`,
    ],
    [
      'copilot-cli',
      `export COPILOT_PROVIDER_BASE_URL='http://127.0.0.1:PORT/v1'\nexport COPILOT_PROVIDER_API_KEY='${keyFor('copilot-cli')}'\nexport COPILOT_PROVIDER_WIRE_API='responses'\nexport COPILOT_MODEL='gpt-6.1-sol'\nexport COPILOT_OFFLINE='true'\n`,
    ],
  ])('%s', async (name, lines) => {
    expect(await room.run(`connect ${name} --shell posix`)).toMatchObject({
      code: 0,
      out: lines.replaceAll('PORT', String(models.port)),
    });
    expect(await room.run(`connect ${name} --undo --yes`)).toMatchObject({
      code: 0,
      err: expect.stringContaining(`The key "connect: ${name} on ${hostname()}" was revoked.`),
    });
    expect(await room.run(`connect ${name} --undo`)).toMatchObject({
      code: 0,
      err: expect.stringContaining('has written nothing'),
    });
  });

  it('and the command for a single run with the same server and model', async () => {
    const { err } = await room.run('connect env --model gpt-5.5');
    expect(err).toMatch(
      new RegExp(`^\nRun these .*: PORT=${models.port} .* env --run --model gpt-5.5 -- …\n$`),
    );
  });

  it('of a client with a file, if a shell is named', async () => {
    const { code, out } = await room.run('connect claude --shell fish --model claude-sonnet-5-5');
    expect([code, out.split('\n')[2], readdirSync(room.home)]).toEqual([
      0,
      `set -gx ANTHROPIC_MODEL 'claude-sonnet-5-5'`,
      ['state'],
    ]);
    expect(await room.run('connect codex --shell fish')).toMatchObject({
      code: 1,
      err: 'Codex cannot be set up with variables alone: use connect codex without --shell.\n',
    });
  });

  it('for other shells', async () => {
    const fish = await room.run('connect env', { environment: { SHELL: '/usr/bin/fish' } });
    const windows = await room.run('connect env --shell powershell');
    expect([fish.out.split('\n')[1], windows.out.split('\n')[1]]).toEqual([
      `set -gx OPENAI_API_KEY '${keyFor('env')}'`,
      `$env:OPENAI_API_KEY = '${keyFor('env')}'`,
    ]);
  });
});

describe('connect finds the server', () => {
  it('and takes the usual window and the key of the last run if it does not answer', async () => {
    const other = await startModelList();
    const url = `http://127.0.0.1:${other.port}`;
    await room.run(`connect claude --print --url ${url}`);
    other.close();
    const { code, out, err } = await room.run(`connect claude --print --url ${url}/v1/`);
    expect(code).toBe(0);
    expect(err).toContain(`No server answers at ${url}: assuming the model codex-5 with 272,000 tokens.`);
    expect(JSON.parse(out)).toEqual({
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_AUTH_TOKEN: keyFor('claude'),
        CLAUDE_CODE_AUTO_COMPACT_WINDOW: '272000',
        CLAUDE_CODE_MAX_CONTEXT_TOKENS: '272000',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      },
    });
  });

  it.each<readonly [string, Record<string, string>, string]>([
    ['--model nope', {}, 'has no model nope'],
    ['--yes', { PROXY_API_KEY: 'sk-another-key' }, 'does not prove that it knows the key of this server'],
    ['--yes', { PORT: '1' }, 'No server answers at http://127.0.0.1:1. It has to make a key for this client'],
    ['--yes', { PORT: '0' }, 'With PORT=0 the address changes with each start: name it with --url.'],
    ['--url ftp://x', {}, '--url needs an address such as http://127.0.0.1:11435.'],
    ['--url http://me:secret@x', {}, '--url must not contain a password'],
    ['--url https://else.test/v1', {}, 'Set PROXY_API_KEY to the key of the server at https://else.test.\n'],
    ['--yes', { PROXY_STATE_DIR: '/nowhere/at/all' }, 'The server has no key yet: start it once ('],
  ])('%s %j: exits with 1', async (flags, environment, message) => {
    const { code, err } = await room.run(`connect claude ${flags}`, { environment });
    expect([code, readdirSync(room.home)]).toEqual([1, ['state']]);
    expect(err).toContain(message);
  });

  it('does not trust a state directory that others may write to', async () => {
    chmodSync(room.at('state'), 0o777);
    const { code, err } = await room.run('connect claude --yes');
    expect([code, readdirSync(room.home)]).toEqual([1, ['state']]);
    expect(err).toContain(`Other users may write to ${room.at('state')}`);
  });

  it('explains a key file without a key', async () => {
    room.put('state/api-key', '');
    expect(await room.run('connect claude --yes')).toMatchObject({
      code: 1,
      err: `${room.at('state/api-key')} contains no key. Delete it: the next start creates a new one.\n`,
    });
  });

  it('sets the model of --model for Claude Code', async () => {
    const { out } = await room.run('connect claude --print --model=gpt-5.5');
    expect(JSON.parse(out)).toMatchObject({ env: { ANTHROPIC_MODEL: 'gpt-5.5' } });
  });
});

describe('connect', () => {
  it('lists the clients and whether they are connected', async () => {
    await room.run('connect pi --yes');
    const { code, out } = await room.run('connect', { environment: { OPENAI_BASE_URL: 'http://x/v1' } });
    expect(code).toBe(0);
    expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ...Object.entries<ConnectClient>(CLIENTS).map(([name, { title }]) => [
        name,
        name === 'pi' ? 'connected' : 'not connected',
        title,
      ]),
      [''],
    ]);
  });

  it.each([
    [
      'connect nope',
      'connect needs one of: claude, codex, opencode, cline, continue, copilot-cli, qwen-code, pi, env.',
    ],
    ['connect --yes', 'connect: name a client.'],
    ['connect claude --undo --run', '--undo and --run exclude each other.'],
    ['connect claude -- x', 'Arguments after -- need --run.'],
    ['connect env --run', 'Name the program after --.'],
    ['connect env --shell tcsh', '--shell needs one of: posix, fish, powershell.'],
    ['connect claude --undo --model x', '--model has no meaning with --undo.'],
    ['connect claude --run --shell fish', '--shell has no meaning with --run.'],
    ['connect claude --url', '--url needs a value.'],
    ['connect claude --yes=1', 'connect does not accept "--yes=1".'],
  ])('%s: exits with 2', async (line, message) => {
    expect(await room.run(line)).toMatchObject({
      code: 2,
      err: `${message} See codex-app-server-proxy --help.\n`,
    });
  });

  it.each(['cline', 'continue', 'pi'])('%s cannot be started without its file', async (name) => {
    expect(await room.run(`connect ${name} --run`)).toMatchObject({
      code: 1,
      err: expect.stringContaining('reads its settings from a file only'),
    });
  });

  it('reports a program that is missing', async () => {
    expect(await room.run('connect env --run -- no-such-program-here')).toMatchObject({
      code: 1,
      err: 'There is no program no-such-program-here on the PATH: install it first.\n',
    });
  });
});
