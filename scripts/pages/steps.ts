import { ANSWER_STEPS, BACKEND_STEPS } from '../../src/engine/steps/order.ts';

/** The steps in order, the outermost first. */
export const describeSteps = (): string => {
  const rows = [
    ...ANSWER_STEPS.map(({ name, why }) => [`\`${name}\``, why]),
    [
      '*the active backend*',
      'Everything below belongs to one backend. If it is replaced before the turn begins, the turn is planned again.',
    ],
    ...BACKEND_STEPS.map(({ name, why }) => [`\`${name}\``, why]),
    [
      '*the attempts*',
      '`src/engine/attempt/run-turn.ts`: one attempt on one worker, and the next one after a lost worker or a rejected request.',
    ],
  ];
  return [
    '| | step | why it exists, and why here |',
    '|---|---|---|',
    ...rows.map(([name, why], index) => `| ${index + 1} | ${name} | ${why} |`),
  ].join('\n');
};
