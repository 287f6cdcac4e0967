import type { Outcome } from '../../canonical/events/turn-event.ts';
import type { Reply } from '../../canonical/events/accumulate.ts';
import {
  isMessage,
  isReasoning,
  isToolCall,
  wordsOf,
  type Message,
  type ToolCall,
} from '../../canonical/request/item.ts';
import { shownReasoning } from '../../apis/arrange.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { isJsonObject, type Json, type JsonObject } from '../../kit/json/json.ts';
import { projectCompletionUsage, type RenderChoicesOptions } from '../shared/render-choices.ts';
import { JoinedText } from '../shared/joined-text.ts';
import { append } from '../../kit/collections/lists.ts';
import { metadata } from '../shared/field-schemas.ts';
import { parseBody } from '../../apis/validation.ts';

/** What a chat completion needs besides the replies. */
export interface ChatMeta extends RenderChoicesOptions {
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  /** The requested model name. */
  readonly model: string;
  readonly serviceTier: string | null;
  /** Sends calls in the legacy form. */
  readonly isLegacy: boolean;
  /** Sends the first call in the legacy form too. */
  readonly isAlsoLegacy: boolean;
}

/** The backend does not report its configuration. */
export const FINGERPRINT = 'fp_codex_app_server';

/** The fields that a completion and all its chunks share. */
export const commonChatFields = (meta: ChatMeta) => ({
  id: meta.id,
  created: meta.createdAt,
  model: meta.model,
  // The upstream does not report the actual tier; `auto` means the default here.
  service_tier: meta.serviceTier === null || meta.serviceTier === 'auto' ? 'default' : meta.serviceTier,
  system_fingerprint: FINGERPRINT,
});

/** The JSON body: one choice per reply. */
export const projectChat = (replies: readonly Reply[], meta: ChatMeta) => {
  const usage = projectCompletionUsage(replies, meta.usagePolicy);
  return {
    ...commonChatFields(meta),
    object: 'chat.completion' as const,
    choices: replies.map((reply, index) => projectChoice(reply, index, meta)),
    ...(usage === null ? {} : { usage }),
  };
};

const projectChoice = (reply: Reply, index: number, meta: ChatMeta) => ({
  index,
  message: projectMessage(reply, meta),
  logprobs: projectLogprobs(reply.items.filter(isMessage).flatMap(logprobsOf)),
  finish_reason: finishReason(reply.outcome, meta),
});

const projectMessage = (reply: Reply, meta: ChatMeta) => {
  const messages = reply.items.filter(isMessage);
  const calls = reply.items.filter(isToolCall);
  const joined = new JoinedText();
  let content = '';
  const annotations: Json[] = [];
  for (const [index, message] of messages.entries()) {
    const text = wordsOf(message, 'text');
    content += joined.add(String(index), text);
    append(annotations, projectAnnotations(annotationsOf(message), joined.length - text.length));
  }
  const refusal = join(messages.map((message) => wordsOf(message, 'refusal'))) || null;
  const reasoning = join(reply.items.filter(isReasoning).flatMap(shownReasoning));
  const first = calls[0];
  return {
    role: 'assistant' as const,
    // Null if the answer has no text.
    content: content === '' && (first !== undefined || refusal !== null) ? null : content,
    refusal,
    ...(reasoning === '' ? {} : reasoningFields(reasoning)),
    annotations,
    ...(first !== undefined && isOlder(first, meta)
      ? { function_call: { name: first.name, arguments: first.input } }
      : {}),
    ...(first !== undefined && !meta.isLegacy ? { tool_calls: calls.map(projectCall) } : {}),
  };
};

/** Whether to send the first call in the legacy form, which supports only functions. */
export const isOlder = (
  { tool }: ToolCall,
  { isLegacy, isAlsoLegacy }: Pick<ChatMeta, 'isLegacy' | 'isAlsoLegacy'>,
): boolean => isLegacy || (isAlsoLegacy && tool === 'function');

/** OpenAI has no field for reasoning; clients read one of these two. */
export const reasoningFields = (text: string) => ({ reasoning_content: text, reasoning: text });

/** A call in a chat message. */
export const projectCall = ({ tool, callId, name, input }: ToolCall) =>
  tool === 'function'
    ? { id: callId, type: 'function' as const, function: { name, arguments: input } }
    : { id: callId, type: 'custom' as const, custom: { name, input } };

export const annotationsOf = ({ parts }: Message): readonly Json[] =>
  parts.flatMap((part) => (part.kind === 'text' ? (part.annotations ?? []) : []));

export const logprobsOf = ({ parts }: Message): readonly Json[] =>
  parts.flatMap((part) => (part.kind === 'text' ? (part.logprobs ?? []) : []));

const join = (texts: readonly string[]): string => {
  const joined = new JoinedText();
  return texts.map((text, index) => joined.add(String(index), text)).join('');
};

/** Citations of a text that begins at `offset` of the content. Chat supports only URL citations. */
export const projectAnnotations = (annotations: readonly Json[], offset: number): readonly Json[] =>
  annotations.flatMap((one) => {
    if (!isJsonObject(one) || one['type'] !== 'url_citation') return [];
    const { url, title, start_index: start, end_index: end } = one;
    return [
      {
        type: 'url_citation',
        url_citation: {
          url,
          title: title ?? '',
          start_index: offset + Number(start ?? 0),
          end_index: offset + Number(end ?? 0),
        },
      },
    ];
  });

export const projectLogprobs = (tokens: readonly Json[]) =>
  tokens.length === 0 ? null : { content: tokens, refusal: null };

/** The finish reason; null for a failed turn. */
export const finishReason = (outcome: Outcome, { isLegacy }: Pick<ChatMeta, 'isLegacy'>): string => {
  switch (outcome.kind) {
    case 'completed':
      return 'stop';
    case 'tool-calls':
      return isLegacy ? 'function_call' : 'tool_calls';
    case 'incomplete':
      return outcome.reason === 'content_filter' ? 'content_filter' : 'length';
    case 'failed':
      throw new Error('a failed turn is an error, not a completion');
    default:
      return assertNever(outcome);
  }
};

/** A chat completion that was created with `store: true`. */
interface ShownChat {
  readonly id: string;
  /** The answer as its client got it. */
  readonly object: JsonObject;
  readonly metadata: Readonly<Record<string, string>>;
}

export const projectStoredChat = ({ id, object, metadata: pairs }: ShownChat) => ({
  ...object,
  id,
  metadata: pairs,
});

export const projectDeletedChat = (id: string) => ({
  object: 'chat.completion.deleted' as const,
  id,
  deleted: true,
});

/** A message of the request. A list of parts has a field of its own. */
export const projectStoredMessage = (message: JsonObject, id: string) => {
  const { content = null, refusal = null, name = null } = message;
  const hasParts = Array.isArray(content);
  return {
    ...message,
    id,
    content: hasParts ? null : content,
    refusal,
    name,
    content_parts: hasParts ? content : null,
  };
};

/** The messages of a completion with their ids. */
export const withMessageIds = (
  completionId: string,
  messages: readonly JsonObject[],
): readonly { readonly id: string; readonly message: JsonObject }[] =>
  messages.map((message, index) => ({ id: `${completionId}-${index}`, message }));

/** Reads the filter `metadata[key]=value` of a query. Throws if it is invalid. */
export const readMetadataFilter = (query: URLSearchParams): Readonly<Record<string, string>> =>
  parseBody(
    metadata,
    query.has('metadata')
      ? query.get('metadata')
      : Object.fromEntries(
          [...query].flatMap(([name, value]) => {
            const key = /^metadata\[(.*)\]$/s.exec(name)?.[1];
            return key === undefined ? [] : [[key, value]];
          }),
        ),
    'metadata',
  );
