import { describe, expect, it } from 'vitest';

import { knownModel, modelList } from '../../test/support/models.ts';
import { planOf, throughStep } from '../../test/support/plan.ts';
import { turnRequest } from '../../test/support/turn-request.ts';
import { collect, emit } from '../../test/support/turn-events.ts';
import { createModelNames } from '../canonical/models/model-names.ts';
import type { TurnRequest } from '../canonical/request/turn-request.ts';
import { answerShortly } from '../engine/steps/answer-shortly.ts';
import { createMetrics } from '../observe/metrics.ts';
import type { ParsedRequest } from './api.ts';
import { createSideTurns, type SideRules } from './side-turns.ts';

const ON: SideRules = { titleIntercept: true, titleModel: null, keepaliveMs: 15_000 };
const names = createModelNames(modelList([knownModel('large'), knownModel('mini', { efforts: ['low'] })]));

/** Which models are asked, the turn that was asked for being last. */
const asked = async (rules: SideRules, sideRequest: ParsedRequest['sideRequest']) => {
  const models: string[] = [];
  const lines: object[] = [];
  const turns = createSideTurns(rules, {
    engine: {
      plan({ model }) {
        models.push(model);
        return planOf(() => emit([]));
      },
    },
    models: { names: async () => names },
    metrics: createMetrics(),
    logger: { info: (line: object) => void lines.push(line) },
  });
  const request = turnRequest({ model: 'large' });
  const side = await turns({ sideRequest } as ParsedRequest, request, { requestId: 'req_1', note() {} });
  if (side === null) return null;
  const prepare = async (one: TurnRequest): Promise<TurnRequest> => {
    models.push('ordinary');
    return one;
  };
  const ordinary = planOf(() => emit([]), { ignored: ['user'] });
  const plan = throughStep(answerShortly, { short: { ...side, prepare } }, ordinary, request);
  await collect(plan.run(new AbortController().signal));
  return { models, ignored: plan.ignored, lines };
};

describe('createSideTurns', () => {
  const side = { kind: 'title', clean: (text: string) => text } as const;

  it('leaves all other requests alone, and these where the deployment wants that', async () => {
    expect(await asked(ON, null)).toBeNull();
    expect(await asked({ ...ON, titleIntercept: false }, side)).toBeNull();
  });

  it('asks the smallest model, or the one that the deployment names, and says what became of it', async () => {
    expect(await asked(ON, side)).toEqual({
      models: ['mini', 'ordinary'],
      ignored: ['user'],
      lines: [{ requestId: 'req_1', intercept: 'title', result: 'failed', err: undefined }],
    });
    expect((await asked({ ...ON, titleModel: 'large-codev-l' }, side))?.models).toEqual([
      'large',
      'ordinary',
    ]);
  });
});
