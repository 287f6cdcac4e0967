import { z } from 'zod';

import { noteUnread, parseBody, readTagged } from '../../../apis/validation.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import type { ThinkingDisplay } from '../reasoning/thinking-block.ts';

/** `max` is the highest effort that the model has. */
export const effortWord = z.enum(['low', 'medium', 'high', 'xhigh', 'max']);

export interface ReadThinking {
  /** How the answer shows reasoning; null: not at all. */
  readonly display: ThinkingDisplay | null;
  /** The effort that the budget means; null: there is no budget. */
  readonly effort: string | null;
  readonly isDisabled: boolean;
}

const display = z.enum(['summarized', 'omitted', 'updates']).nullish();
// Blocks that this server did not sign are always dropped.
const common = { type: z.string(), display, block_binding: z.unknown().optional() } as const;
const schemas = {
  adaptive: z.object(common),
  between_tools: z.object(common),
  enabled: z.object({ ...common, budget_tokens: z.int().min(1) }),
  disabled: z.object({ type: z.string() }),
} as const;
const TYPES = ['adaptive', 'between_tools', 'enabled', 'disabled'] as const;

/** Reads `thinking`. Without it, an answer shows no reasoning. */
export const readThinking = (value: JsonObject | null | undefined, unread: string[]): ReadThinking => {
  if (!value) return { display: null, effort: null, isDisabled: false };
  const { tag } = readTagged(value, 'type', TYPES, 'thinking');
  noteUnread(unread, schemas[tag], value, 'thinking');
  if (tag === 'disabled') return { display: null, effort: null, isDisabled: true };
  const parsed = parseBody(schemas[tag], value, 'thinking');
  return {
    display: parsed.display === 'omitted' ? 'omitted' : 'summarized',
    effort: 'budget_tokens' in parsed ? effortOf(parsed.budget_tokens) : null,
    isDisabled: false,
  };
};

/** Backends have no budget, so its size chooses the effort. */
const effortOf = (budget: number): string => {
  if (budget < 4_096) return 'low';
  return budget < 16_384 ? 'medium' : 'high';
};

interface Efforts {
  /** What the request asks for; null: nothing. */
  readonly asked: string | null;
  /** What the model's name asks for. */
  readonly named: string | null;
  /** Supported efforts, lowest first; null: unknown. */
  readonly supported: readonly string[] | null;
}

/**
 * The effort of a turn; null: the model's default. A name with an effort, such as `gpt-5.5-high`, comes first: a person
 * chose it, and Claude Code sends an effort with every request.
 */
export const chooseEffort = (
  { effort: budget, isDisabled }: ReadThinking,
  { asked, named, supported }: Efforts,
): string | null => {
  if (named !== null) return named;
  if (asked === 'max') return supported?.includes('max') === false ? (supported.at(-1) ?? null) : 'max';
  if (asked !== null) return asked;
  return isDisabled ? (supported?.[0] ?? 'low') : budget;
};
