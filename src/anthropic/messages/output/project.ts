import type { Reply } from '../../../canonical/events/accumulate.ts';
import type { Signer, ThinkingDisplay } from '../reasoning/thinking-block.ts';
import { projectBlocks } from './blocks.ts';
import type { Outcome } from '../../../canonical/events/turn-event.ts';
import { isMessage, wordsOf, type Produced } from '../../../canonical/request/item.ts';
import { assertNever } from '../../../kit/assert-never.ts';
import type { Usage } from '../../../canonical/events/usage.ts';

/** The fields of every message, also at the start of a stream. */
export const messageHead = ({ id, model }: MessagesMeta) => ({
  id,
  type: 'message' as const,
  role: 'assistant' as const,
  model,
});

/** The edits that were made of the context, if the request asks for any. */
export const contextEdits = ({ editsContext }: MessagesMeta) =>
  editsContext === true ? { context_management: { applied_edits: [] } } : {};

/** The JSON body of an answer. */
export const projectMessage = (reply: Reply, meta: MessagesMeta, signer: Signer) => {
  const options = { thinking: meta.thinking, signer };
  return {
    ...messageHead(meta),
    content: projectBlocks(reply.items, options),
    ...stopFields(reply.outcome, reply.items.some(hasRefused)),
    usage: projectMessageUsage(reply.usage),
    ...contextEdits(meta),
  };
};

interface StopFields {
  readonly stop_reason: string;
  readonly stop_sequence: string | null;
}

/**
 * Why an answer ended. Every limit is `max_tokens`, which says that the answer is cut; `pause_turn` would end the work of
 * Claude Code. A failed turn is an error, not an answer.
 */
export const stopFields = (outcome: Outcome, isRefused: boolean): StopFields => ({
  stop_reason: reasonOf(outcome, isRefused),
  stop_sequence: outcome.kind === 'completed' ? (outcome.stop ?? null) : null,
});

/** Whether an item has a refusal of the model. */
export const hasRefused = (item: Produced): boolean => isMessage(item) && wordsOf(item, 'refusal') !== '';

const reasonOf = (outcome: Outcome, isRefused: boolean): string => {
  switch (outcome.kind) {
    case 'completed':
      if (outcome.stop !== undefined) return 'stop_sequence';
      return isRefused ? 'refusal' : 'end_turn';
    case 'tool-calls':
      return 'tool_use';
    case 'incomplete':
      return outcome.reason === 'content_filter' ? 'refusal' : 'max_tokens';
    case 'failed':
      throw new Error('a failed turn is an error, not a message');
    default:
      return assertNever(outcome);
  }
};

/** The tokens of an answer. Cached tokens are not part of `input_tokens`. */
export const projectMessageUsage = (usage: Usage | null) => {
  const {
    inputTokens = 0,
    cachedInputTokens = 0,
    cacheWriteInputTokens = 0,
    outputTokens = 0,
    reasoningTokens = 0,
  } = usage ?? {};
  return {
    input_tokens: Math.max(0, inputTokens - cachedInputTokens - cacheWriteInputTokens),
    cache_creation_input_tokens: cacheWriteInputTokens,
    cache_read_input_tokens: cachedInputTokens,
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
  };
};

/** What an answer needs besides the events of its turn. Plain data. */
/** Which reasoning the client sees. */
export interface ShownThinking {
  /** How reasoning is shown; null: not at all. */
  readonly thinking: ThinkingDisplay | null;
}

export interface MessagesMeta extends ShownThinking {
  readonly id: string;
  /** The requested model name. */
  readonly model: string;
  /** Whether the request asks for edits of its context. None is made, and the answer says so. */
  readonly editsContext?: boolean;
}
