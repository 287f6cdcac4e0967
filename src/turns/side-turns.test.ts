import { describe, expect, it } from 'vitest';

import { knownModel, modelList } from '../../test/support/models.ts';
import { planOf } from '../../test/support/plan.ts';
import { turnOf } from '../../test/support/turn-request.ts';
import { collect, emit } from '../../test/support/turn-events.ts';
import { createModelNames } from '../canonical/models/model-names.ts';
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
  const plan = await turns({ sideRequest } as ParsedRequest, turnOf({ model: 'large' }), {
    ignored: ['user'],
    call: { requestId: 'req_1', note() {} },
    async prepare() {
      models.push('ordinary');
      return planOf(() => emit([]));
    },
  });
  if (plan === null) return null;
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
