import { expect, it } from 'vitest';

import { describeParameters } from './parameters.ts';

it('says of each parameter what becomes of it at each backend', () => {
  expect(
    describeParameters(
      'POST /x',
      {
        model: { policy: 'mapped', note: 'Always.' },
        seed: { policy: 'mapped', wire: { field: 'seed', otherwise: 'ignored' }, note: 'Sometimes.' },
      },
      [
        { title: 'poor', takes: () => false },
        { title: 'rich', takes: (field) => field === 'seed' },
      ],
    ),
  ).toBe(
    [
      '## POST /x',
      '',
      '| parameter | poor | rich | what happens |',
      '|---|---|---|---|',
      '| `model` | mapped | mapped | Always. |',
      '| `seed` | ignored | mapped | Sometimes. |',
      '',
    ].join('\n'),
  );
});
