import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { COMMANDS } from '../../src/cli/table.ts';
import { VERSION } from '../../src/version.ts';
import { openCommandRoom, type CommandRoom } from '../support/command.ts';

/** The command line, and signing in. */

const ROOT = path.resolve(import.meta.dirname, '../..');

let room: CommandRoom;
beforeEach(async () => {
  room = await openCommandRoom('sources');
});
afterEach(() => room.close());

const run = async (words: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  const command = room.start(words, env);
  const [code] = await command.exited;
  return { code, ...command.output };
};

describe('the command', () => {
  it('--version prints both versions', async () => {
    expect(await run(['--version'])).toEqual({
      code: 0,
      out: expect.stringMatching(
        new RegExp(`^codex-app-server-proxy ${VERSION}, codex \\d+\\.\\d+\\.\\d+\n$`),
      ),
      err: '',
    });
  });

  it('--help lists every command', async () => {
    const { code, out, err } = await run(['--help']);
    const named = [...out.matchAll(/^ {2}(\w+) /gm)].map(([, name]) => name);
    expect([code, err, named]).toEqual([0, '', expect.arrayContaining(Object.keys(COMMANDS))]);
  });

  it('rejects unknown commands and options', async () => {
    expect(await run(['start'])).toEqual({
      code: 2,
      out: '',
      err: 'There is no command "start". See codex-app-server-proxy --help.\n',
    });
  });

  it('has an npm script for each command', async () => {
    const { scripts } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const bin = 'node bin/codex-app-server-proxy.js';
    const commands = Object.keys(COMMANDS).map((name) => (name === 'serve' ? bin : `${bin} ${name}`));
    expect(['start', ...Object.keys(COMMANDS).slice(1)].map((name) => scripts[name])).toEqual(commands);
  });

  it('tells users of an older Node in one line what it needs', async () => {
    const pretend = 'Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.20.2"}})';
    const older = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(pretend)}` };
    expect(await run(['--version'], older)).toEqual({
      code: 1,
      out: '',
      err: 'codex-app-server-proxy needs Node 22.19 or newer (npm start brings its own); this is Node 20.20.2.\n',
    });
  });
});

describe('login', () => {
  it('creates the home of the login, and returns the exit code of codex', async () => {
    const { code, err } = await run(['login', '--device']);
    expect(code).toBe(1);
    expect(err).toContain(`Signing in for ${room.stateDir}/codex\n`);
    expect(err).toContain('Not signed in; nothing has changed.\nIf auth.openai.com could not be reached:');
    expect((await stat(path.join(room.stateDir, 'codex'))).mode & 0o777).toBe(0o700);
    // Nothing was created elsewhere.
    expect(await readdir(room.home)).toEqual(['state']);
    expect(await readdir(path.join(room.stateDir, 'run'))).toEqual([]);
  });

  it('uses the named CODEX_HOME', async () => {
    const home = path.join(room.home, 'named');
    const { err } = await run(['login', '--device'], { CODEX_HOME: home });
    expect(err).toContain(`Signing in for ${home}\n`);
    expect(await readdir(home)).toEqual([]);
  });

  it('logout does nothing if no one is signed in', async () => {
    expect(await run(['logout'])).toEqual({
      code: 0,
      out: '',
      err: `No login is left in ${room.stateDir}/codex.\n`,
    });
  });
});

describe('doctor', () => {
  it("leaves nothing in the user's home", async () => {
    // codex creates helpers in its home, unless that is below the folder for temporary files.
    const temporary = path.join(room.home, 'temporary');
    await mkdir(temporary);
    await run(['doctor', '--no-turns'], { TMPDIR: temporary });
    expect(await readdir(room.home)).not.toContain('.codex');
    expect(await readdir(temporary)).toEqual([]);
  });
});
