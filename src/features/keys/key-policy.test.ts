import { describe, expect, it } from 'vitest';

import { failureOf } from '../../canonical/failure/failure.ts';
import { type ModelInfo, unknownModel } from '../../canonical/models/model-names.ts';
import { PLAIN_REQUEST, type TurnRequest } from '../../canonical/request/turn-request.ts';
import { mayUseModel, withinEffort } from './key-policy.ts';

const request = (effort: string | null): TurnRequest => ({
  ...PLAIN_REQUEST,
  model: 'm',
  items: [],
  reasoning: { effort, summary: null, context: null },
});

const param = 'reasoning.effort';
const info = (efforts: readonly string[], defaultEffort: string): ModelInfo => ({
  ...unknownModel('m'),
  efforts,
  defaultEffort,
});

it('allows the models that match a pattern, or all', () => {
  expect(['gpt-5', 'o3'].map((model) => mayUseModel({ models: ['gpt-*', 'x'] }, model))).toEqual([
    true,
    false,
  ]);
  expect(mayUseModel({ models: [] }, 'anything')).toBe(true);
});

describe('withinEffort', () => {
  const effortOf = (effort: string | null, of: ModelInfo | null): string | null | undefined => {
    try {
      return withinEffort(request(effort), 'low', { info: of, param }).reasoning.effort;
    } catch (error) {
      return failureOf(error).message;
    }
  };

  it('keeps what is low enough and refuses what the client chose too high', () => {
    expect(['none', 'low', 'medium', 'extreme'].map((effort) => effortOf(effort, null))).toEqual([
      'none',
      'low',
      "Unsupported value: 'medium'. This key allows a reasoning effort of at most 'low'.",
      "Unsupported value: 'extreme'. This key allows a reasoning effort of at most 'low'.",
    ]);
  });

  it('lowers a default that is too high, and only that', () => {
    expect({
      unknown: effortOf(null, null),
      high: effortOf(null, info(['minimal', 'low', 'medium', 'high'], 'high')),
      low: effortOf(null, info(['low', 'high'], 'low')),
      without: effortOf(null, info([], 'none')),
      onlyLower: effortOf(null, info(['none', 'high'], 'high')),
      onlyHigher: effortOf(null, info(['medium', 'high'], 'high')),
    }).toEqual({
      unknown: 'low',
      high: 'low',
      low: null,
      without: null,
      onlyLower: 'none',
      onlyHigher:
        "This key allows a reasoning effort of at most 'low', which the model 'm' does not support.",
    });
  });
});
