import { expect, it } from 'vitest';

import { describeParameters } from './parameters.ts';

it('describes how each backend handles each parameter', () => {
  expect(
    describeParameters(
      'POST /x',
      {
        store: { policy: 'ignored', note: 'Always.' },
        seed: { asks: ['sampling.seed'], note: 'Sometimes.' },
        user: { asks: ['user'], otherwise: 'echoed', note: 'Comes back.' },
        logprobs: { asks: ['include'], otherwise: 'rejected', note: '' },
        text: { asks: ['format', 'verbosity'], note: 'Two in one.' },
      },
      {
        columns: [
          { title: 'poor', becomes: (setting) => (setting === 'format' ? 'emulated' : 'ignored') },
          { title: 'rich', becomes: () => 'mapped' },
        ],
        noteOf: (setting) => (setting === 'include' ? 'If the backend can.' : null),
      },
    ),
  ).toBe(
    [
      '## POST /x',
      '',
      '| parameter | poor | rich | what happens |',
      '|---|---|---|---|',
      '| `store` | ignored | ignored | Always. |',
      '| `seed` | ignored | mapped | Sometimes. |',
      '| `user` | echoed | mapped | Comes back. |',
      '| `logprobs` | rejected | mapped | If the backend can. |',
      '| `text` | emulated, ignored | mapped | Two in one. |',
      '',
    ].join('\n'),
  );
});
