import { describe, expect, it } from 'vitest';

import { readCommandLine, type CommandLine } from './read-command-line.ts';

const run = (command: string, ...flags: string[]): unknown => ({
  kind: 'run',
  command,
  flags: new Map(flags.map((flag) => [flag, ''])),
  words: [],
});
const connect = (...flags: [string, string][]) => ({
  kind: 'run',
  command: 'connect',
  flags: new Map(flags),
});
const ACTIONS = 'db needs one of: status, backup FILE, accept-key, vacuum.';
const wrong = (message: string): CommandLine => ({
  kind: 'wrong',
  message: `${message} See codex-app-server-proxy --help.`,
});

describe('readCommandLine', () => {
  it.each<readonly [string, unknown]>([
    ['', run('serve')],
    ['serve', run('serve')],
    ['login', run('login')],
    ['login --device', run('login', 'device')],
    ['doctor --json --no-turns', run('doctor', 'json', 'no-turns')],
    ['--help', { kind: 'help' }],
    ['help', { kind: 'help' }],
    ['login -h', { kind: 'help' }],
    ['--version', { kind: 'version' }],
    ['-v', { kind: 'version' }],
    ['sevre', wrong('There is no command "sevre".')],
    ['constructor', wrong('There is no command "constructor".')],
    ['--port 80', wrong('serve does not accept "--port".')],
    ['login --json', wrong('login does not accept "--json".')],
    ['login device', wrong('login does not accept "device".')],
    ['doctor now', wrong('doctor does not accept "now".')],
    ['db status --json', { kind: 'run', command: 'db', flags: new Map([['json', '']]), words: ['status'] }],
    ['db backup a.db', { kind: 'run', command: 'db', flags: new Map(), words: ['backup', 'a.db'] }],
    [
      'keys create --models a --models=b,c --name x --name y',
      {
        kind: 'run',
        command: 'keys',
        flags: new Map([
          ['models', 'a,b,c'],
          ['name', 'y'],
        ]),
        words: ['create'],
      },
    ],
    ['connect', run('connect')],
    ['connect claude --yes', { ...connect(['yes', '']), words: ['claude'] }],
    [
      'connect pi --url http://a --model=b=c',
      { ...connect(['url', 'http://a'], ['model', 'b=c']), words: ['pi'] },
    ],
    ['connect claude --run -- -p --help', { ...connect(['run', '']), words: ['claude', '-p', '--help'] }],
    ['connect claude --url', wrong('--url needs a value.')],
    ['connect claude --url=', wrong('--url needs a value.')],
    ['connect claude --run=x', wrong('connect does not accept "--run=x".')],
    ['serve -- x', wrong('serve does not accept "--".')],
    ['db', wrong(ACTIONS)],
    ['db backup', wrong('db backup needs FILE.')],
    ['db backup a.db b.db', wrong('db backup does not accept "b.db".')],
    ['db status now', wrong('db status does not accept "now".')],
    ['keys create alice --storage 5', wrong('keys create does not accept "alice".')],
    ['db constructor', wrong(ACTIONS)],
    ['db status --device', wrong('db does not accept "--device".')],
  ])('%j', (line, expected) => {
    expect(readCommandLine(line.split(' ').filter((word) => word !== ''))).toEqual(expected);
  });
});
