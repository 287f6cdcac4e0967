import type { Command } from './command.ts';

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
} as const satisfies Record<string, Command>;

export type CommandName = keyof typeof COMMANDS;
