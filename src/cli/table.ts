import type { Command } from './read-command-line.ts';
import { type ConnectClient, SHELLS } from '../connect/client.ts';
import { CLIENTS } from '../connect/clients.ts';

/** All commands. The help text is generated from this table. */
export const COMMANDS = {
  serve: {
    summary: 'run the server (the default)',
    flags: {},
    load: async () => (await import('./serve.ts')).serve,
  },
  login: {
    summary: 'sign in with ChatGPT, for this server',
    flags: {
      device: 'show a code to enter in the browser of another machine',
      'with-access-token': 'read an access token of a ChatGPT workspace from standard input',
    },
    load: async () => (await import('./login.ts')).login,
  },
  logout: {
    summary: 'sign out again',
    flags: {},
    load: async () => (await import('./login.ts')).logout,
  },
  doctor: {
    summary: 'diagnose problems, from Node to the answer of the model',
    flags: {
      json: 'print one JSON object',
      'no-turns': 'send nothing to the model, so that it costs nothing',
    },
    load: async () => (await import('./doctor.ts')).doctor,
  },
  db: {
    summary: 'look after the database of stored responses',
    flags: { json: 'print the status as one JSON object' },
    actions: {
      status: 'print where it is, what it contains, and how it is encrypted',
      'backup FILE': 'copy it into a new file, also while the server runs (PostgreSQL: print the command)',
      'accept-key': 'start with another PROXY_STORE_KEY: the one of before is lost',
      vacuum: 'give back the space of deleted rows; writing waits meanwhile',
    },
    load: async () => (await import('./db.ts')).db,
  },
  keys: {
    summary: 'make keys for other people and programs, and take them back',
    flags: {
      json: 'print JSON',
      'name NAME': 'with create or change: what people call it',
      'note TEXT': 'such as who has it',
      'scopes LIST…': 'what it may do: infer (the default), read, admin',
      'models LIST…': 'the models it may use, such as gpt-*; any',
      'workspaces LIST…': 'the workspaces it may use, such as web-*; any, none (the default)',
      'effort LEVEL': 'the highest reasoning effort; any',
      'addresses LIST…': 'where it may be used, such as 10.0.0.0/8; any',
      'concurrency N': 'how many of its turns run at the same time; any',
      'limit LIMIT…': 'tokens/day=1000000, requests/minute=20,model=gpt-* or cost/month=50; none',
      'storage MB': 'how many MB are kept for it; any, or default for the limit of the server',
      'expires WHEN': 'when it ends: 30d, 12h, 2027-01-31; never',
      'overlap TIME': 'with rotate: how long earlier secrets work (24h)',
    },
    actions: {
      create: 'make a key, and print its secret once',
      list: 'print all keys',
      'show KEY': 'print everything about a key, by its id or name',
      'change KEY': 'change what the flags name',
      'rotate KEY': 'make a new secret, and print it once',
      'pause KEY': 'make it unusable for a while',
      'resume KEY': 'make it usable again',
      'revoke KEY': 'make it unusable for good',
      'reset KEY': 'start its limits anew',
    },
    load: async () => (await import('./keys.ts')).runKeys,
  },
  service: {
    summary: 'run the server in the background, from sign-in on',
    flags: {
      yes: 'with install and uninstall: do not ask',
      print: 'with install: print the file, and write nothing',
      json: 'with status: print one JSON object',
    },
    actions: {
      install: 'write a systemd user unit or a launchd agent, after showing it, and start it',
      uninstall: 'stop it, and remove the file',
      status: 'print whether it is installed and runs',
    },
    load: async () => (await import('./service.ts')).service,
  },
  mcp: {
    summary: 'give the tools of the running server to an MCP client, over standard input and output',
    flags: { 'url URL': 'the address of the server, if it is not the one of the settings' },
    load: async () => (await import('./mcp.ts')).runMcp,
  },
  connect: {
    summary: 'set up a client for this server',
    withoutAction: 'without a client: list them',
    flags: {
      print: 'print what the client needs, and change no file of it',
      yes: 'write without asking',
      undo: 'take back what this command has written, and revoke the key of the client',
      run: 'start the client for this server and change no file of it; arguments for the client follow --',
      'url URL': 'the address of the server, if it is not the one of the settings',
      'model NAME': 'the model to use, instead of the default one',
      mcp: 'give the client the tools of this server over MCP, and leave its models alone',
      'workspaces LIST…': 'with --mcp: the workspaces in which the client may let codex work, such as *',
      'shell NAME': `print variables for a shell and change no file: ${SHELLS.join(', ')}`,
    },
    actions: Object.fromEntries(
      Object.entries<ConnectClient>(CLIENTS).map(([name, { title }]) => [name, title]),
    ),
    takesOthers: true,
    load: async () => (await import('./connect.ts')).connect,
  },
} as const satisfies Record<string, Command>;

export type CommandName = keyof typeof COMMANDS;
