import { describe, expect, it } from 'vitest';

import { NO_SAMPLING, turnOf, type Different } from '../../../../test/support/turn-request.ts';
import { LearntRefusals } from './learnt.ts';

const sampling = { ...NO_SAMPLING, temperature: 0.5 };
const warm = turnOf({ sampling });
const high = { ...warm.request.reasoning, effort: 'high' };

describe('what was learnt', () => {
  it('holds for the same caller, model and effort, for ten minutes', () => {
    let now = 0;
    const learnt = new LearntRefusals({ now: () => now });
    expect(learnt.remember(warm, 'temperature')).toBe(true);
    expect(learnt.remember(warm, 'temperature')).toBe(false);
    const refused = (different: Different): readonly string[] => [
      ...learnt.refusedFor(turnOf({ sampling, ...different })),
    ];
    expect(refused({ conversation: 'another' })).toEqual(['temperature']);
    expect(refused({ keyId: 'another' })).toEqual([]);
    expect(refused({ model: 'another' })).toEqual([]);
    expect(refused({ reasoning: high })).toEqual([]);
    now = 10 * 60_000;
    expect(refused({})).toEqual([]);
    expect(learnt.remember(warm, 'temperature')).toBe(true);
  });

  it('does not hold for who insists on it', () => {
    const learnt = new LearntRefusals({ now: () => 0 });
    learnt.remember(warm, 'temperature');
    learnt.remember(warm, 'max_output_tokens');
    learnt.remember(warm, 'top_logprobs');
    const probable = { sampling, logprobs: { top: 2, isNeeded: false } };
    expect([...learnt.refusedFor(turnOf(probable))]).toEqual([
      'temperature',
      'top_logprobs',
      'max_output_tokens',
    ]);
    const needy = turnOf({ sampling, logprobs: { top: 2, isNeeded: true } });
    expect([...learnt.refusedFor(needy)]).toEqual(['temperature', 'max_output_tokens']);
    // We keep that limit ourselves: there is nothing to insist on.
    expect([...learnt.refusedFor(turnOf({ ...probable, isStrict: true }))]).toEqual(['max_output_tokens']);
  });

  it('is nothing where only a value was refused', () => {
    const learnt = new LearntRefusals({ now: () => 0 });
    expect(learnt.remember(warm, 'service_tier')).toBe(false);
    expect([...learnt.refusedFor(warm)]).toEqual([]);
  });
});
