import { expect, it } from 'vitest';

import { CLIENTS } from './clients.ts';
import { describeClients } from './describe.ts';

const clients = describeClients({
  url: 'https://proxy.example',
  key: 'YOUR_API_KEY',
  keyFile: null,
  model: { id: 'm', isChosen: false, title: 'M', contextWindow: 1_000, maxOutputTokens: 100 },
});

it('describes every client of the command', () => {
  expect(clients.map(({ id }) => id)).toEqual(Object.keys(CLIENTS));
  // Everything that a client needs is in a file or in variables.
  expect(clients.filter(({ files, shell }) => files.length === 0 && shell === null)).toEqual([]);
});

it('shows the files and the variables of a client', () => {
  expect(clients.find(({ id }) => id === 'codex')).toEqual({
    id: 'codex',
    title: 'Codex',
    page: 'clients/codex.md',
    files: [
      {
        path: '~/.codex/config.toml',
        format: 'toml',
        content: expect.stringMatching(/base_url = "https:\/\/proxy\.example\/v1"[^]*YOUR_API_KEY/),
      },
    ],
    shell: null,
    tryIt: 'codex exec "Say hello."',
  });
  expect(clients.find(({ id }) => id === 'env')?.shell).toContain(
    "export OPENAI_BASE_URL='https://proxy.example/v1'\nexport OPENAI_API_KEY='YOUR_API_KEY'\n",
  );
});
