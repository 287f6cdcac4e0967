import type { TurnEnded, TurnEvent, TurnResult } from '../../canonical/events/turn-event.ts';
import { interleave } from '../../kit/async/interleave.ts';
import type { OneOrMore } from '../../kit/collections/lists.ts';
import type { Frame } from '../../turns/api.ts';
import { errorBody } from './error-body.ts';
import { DONE, storeNote, usageNote } from '../../apis/sse.ts';
import { addUsage, type Usage } from '../../canonical/events/usage.ts';

export interface RenderChoicesOptions {
  readonly includeUsage: boolean;
  readonly usagePolicy: UsagePolicy;
}

/** Renders the choices of a completion as chunks, in the order of their events. A failure ends the stream. */
export async function* renderChoices(
  turns: OneOrMore<AsyncIterable<TurnEvent>>,
  fields: object,
  { includeUsage, usagePolicy }: RenderChoicesOptions,
  choicesOf: (event: TurnEvent, index: number) => Iterable<object>,
): AsyncGenerator<Frame> {
  const ended: TurnEnded[] = [];
  const noUsage = includeUsage ? { usage: null } : {};
  for await (const [index, event] of interleave(turns)) {
    if (event.type === 'turn-ended') {
      if (event.outcome.kind === 'failed') {
        yield { event: null, data: errorBody(event.outcome.failure) };
        yield { event: null, data: DONE };
        return;
      }
      ended.push(event);
    }
    for (const choice of choicesOf(event, index)) {
      yield { event: null, data: { ...fields, choices: [choice], ...noUsage } };
    }
  }
  const usage = includeUsage ? projectCompletionUsage(ended, usagePolicy) : null;
  if (usage !== null) yield { event: null, data: { ...fields, choices: [], usage }, ...usageNote(ended) };
  yield { event: null, data: DONE, ...storeNote(ended) };
}

export type UsagePolicy = 'exact' | 'zeros';

/** The total usage of all choices; null if the upstream did not report all of it. */
export const projectCompletionUsage = (turns: readonly TurnResult[], policy: UsagePolicy) => {
  const parsed = turns.map((turn) => turn.usage);
  // A partial sum is not exact.
  if (policy === 'exact' && parsed.includes(null)) return null;
  const usage = parsed.reduce<Usage | null>(addUsage, null);
  return {
    prompt_tokens: usage?.inputTokens ?? 0,
    completion_tokens: usage?.outputTokens ?? 0,
    total_tokens: usage?.totalTokens ?? 0,
    prompt_tokens_details: {
      cached_tokens: usage?.cachedInputTokens ?? 0,
      cache_write_tokens: usage?.cacheWriteInputTokens ?? 0,
      audio_tokens: 0,
    },
    completion_tokens_details: {
      reasoning_tokens: usage?.reasoningTokens ?? 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
};
