import { describe, expect, it } from 'vitest';

import { MAX_ANSWER_CHARS, ModelBudget } from '../../canonical/context/model-budget.ts';
import type { Produced } from '../../canonical/request/item.ts';
import { charsIn } from '../../kit/json/json.ts';
import { AnswerSize } from './answer-size.ts';

const message = (text: string): Produced => ({
  kind: 'message',
  id: 'm',
  role: 'assistant',
  parts: [{ kind: 'text', text }],
});

describe('AnswerSize', () => {
  it('counts a text once, streamed or whole, and a short delta as its frame', () => {
    const long = 'x'.repeat(1000);
    const whole = new AnswerSize().of({ type: 'item-ended', item: message(long) });
    expect(whole).toBeGreaterThanOrEqual(1000);
    const size = new AnswerSize();
    const delta = { type: 'item-delta', itemId: 'm', at: 'text' } as const;
    expect(size.of({ ...delta, delta: long })).toBe(1000);
    expect(size.of({ type: 'item-ended', item: message(long) })).toBe(whole - 1000);
    expect(new AnswerSize().of({ ...delta, delta: 'x' })).toBe(32);
  });

  it('counts what an item begins with, once, and no previews', () => {
    const size = new AnswerSize();
    const whole = charsIn(message('x'.repeat(1000)));
    expect(size.of({ type: 'item-started', item: message('x'.repeat(1000)) })).toBe(whole);
    expect(size.of({ type: 'item-ended', item: message('x'.repeat(1001)) })).toBe(1);
    const status = { type: 'item-status', itemId: 'm', status: 'in_progress' } as const;
    expect(size.of({ ...status, more: { partial_image_b64: 'x'.repeat(100) } })).toBe(32);
  });
});

describe('the text of an answer', () => {
  it('has one limit for all its parts', () => {
    const budget = new ModelBudget(1);
    expect([budget.write(MAX_ANSWER_CHARS), budget.write(0), budget.write(1)]).toEqual([true, true, false]);
  });
});
