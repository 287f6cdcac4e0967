import type { Command } from './command.ts';
import type { Client } from '../connect/client.ts';
import { CLIENTS } from '../connect/clients.ts';
import { SHELLS } from '../connect/shell.ts';

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
    load: async () => (await import('./logout.ts')).logout,
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
      vacuum: 'give back the space of deleted rows; writing waits meanwhile',
    },
    load: async () => (await import('./db.ts')).db,
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
  connect: {
    summary: 'set up a client for this server',
    withoutAction: 'without a client: list them',
    flags: {
      print: 'print what the client needs, and write nothing',
      yes: 'write without asking',
      undo: 'take back what this command has written',
      run: 'start the client for this server and write nothing; arguments for the client follow --',
      'url URL': 'the address of the server, if it is not the one of the settings',
      'model NAME': 'the model to use, instead of the default one',
      'shell NAME': `print variables for a shell and write nothing: ${SHELLS.join(', ')}`,
    },
    actions: Object.fromEntries(Object.entries<Client>(CLIENTS).map(([name, { title }]) => [name, title])),
    takesOthers: true,
    load: async () => (await import('./connect.ts')).connect,
  },
} as const satisfies Record<string, Command>;

export type CommandName = keyof typeof COMMANDS;
