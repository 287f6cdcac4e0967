import { describe, expect, it } from 'vitest';

import { NO_SAMPLING, turnOf, type Different } from '../../../test/support/turn-request.ts';
import { Refusals } from './refusals.ts';

const sampling = { ...NO_SAMPLING, temperature: 0.5 };
const warm = turnOf({ sampling });
const high = { ...warm.request.reasoning, effort: 'high' };

describe('Refusals', () => {
  it('hold for the same caller, model and effort, for ten minutes', () => {
    let now = 0;
    const refusals = new Refusals({ now: () => now });
    expect(refusals.addField(warm, 'temperature')).toBe(true);
    expect(refusals.addField(warm, 'temperature')).toBe(false);
    const refused = (different: Different): readonly string[] => [
      ...refusals.fieldsFor(turnOf({ sampling, ...different })),
    ];
    expect(refused({ conversation: 'another' })).toEqual(['temperature']);
    expect(refused({ keyId: 'another' })).toEqual([]);
    expect(refused({ model: 'another' })).toEqual([]);
    expect(refused({ reasoning: high })).toEqual([]);
    now = 10 * 60_000;
    expect(refused({})).toEqual([]);
    expect(refusals.addField(warm, 'temperature')).toBe(true);
  });

  it('do not hold for a request that must have the parameter', () => {
    const refusals = new Refusals({ now: () => 0 });
    refusals.addField(warm, 'temperature');
    refusals.addField(warm, 'max_output_tokens');
    refusals.addField(warm, 'top_logprobs');
    const probable = { sampling, logprobs: { top: 2, isNeeded: false } };
    expect([...refusals.fieldsFor(turnOf(probable))]).toEqual([
      'temperature',
      'top_logprobs',
      'max_output_tokens',
    ]);
    const needy = turnOf({ sampling, logprobs: { top: 2, isNeeded: true } });
    expect([...refusals.fieldsFor(needy)]).toEqual(['temperature', 'max_output_tokens']);
    // We keep that limit ourselves: there is nothing to insist on.
    expect([...refusals.fieldsFor(turnOf({ ...probable, isStrict: true }))]).toEqual(['max_output_tokens']);
  });

  it('forget a rejection of a single value', () => {
    const refusals = new Refusals({ now: () => 0 });
    expect(refusals.addField(warm, 'service_tier')).toBe(false);
    expect([...refusals.fieldsFor(warm)]).toEqual([]);
  });

  it('can be withdrawn, and have a revision that changes with news only', () => {
    const refusals = new Refusals({ now: () => 0 });
    const before = refusals.revision;
    refusals.add(warm, 'compaction trigger');
    expect(refusals.revision).not.toBe(before);
    const after = refusals.revision;
    refusals.add(warm, 'compaction trigger');
    expect(refusals.revision).toBe(after);
    expect(refusals.has(warm, 'compaction trigger')).toBe(true);
    expect(refusals.has(turnOf({ keyId: 'another' }), 'compaction trigger')).toBe(false);
    refusals.remove(warm, 'compaction trigger');
    expect(refusals.has(warm, 'compaction trigger')).toBe(false);
    expect([...refusals.fieldsFor(warm)]).toEqual([]);
  });

  it('have a limit: the oldest are forgotten first', () => {
    const refusals = new Refusals({ now: () => 0 });
    const caller = (nth: number) => turnOf({ keyId: `caller ${nth}` });
    for (let nth = 0; nth < 10_001; nth += 1) refusals.add(caller(nth), 'namespaces');
    const known = [0, 1, 10_000].map((nth) => refusals.has(caller(nth), 'namespaces'));
    expect(known).toEqual([false, true, true]);
  });
});
