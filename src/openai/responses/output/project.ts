import type { Reply } from '../../../canonical/events/accumulate.ts';
import type { Failure } from '../../../canonical/failure/failure.ts';
import {
  isSummary,
  rawOf,
  type ItemStatus,
  type Part,
  type Produced,
  type RawItem,
} from '../../../canonical/request/item.ts';
import type { Outcome } from '../../../canonical/events/turn-event.ts';
import type { RawTool, Tool } from '../../../canonical/request/tool.ts';
import type { Usage } from '../../../canonical/events/usage.ts';
import { assertNever } from '../../../kit/assert-never.ts';
import { isJsonObject, present, type JsonObject } from '../../../kit/json/json.ts';
import type { Continues } from '../../../turns/api.ts';
import type { CreateResponse } from '../input/parameters.ts';
import { wrapSummary } from '../wrapped-summary.ts';

/** What a response object needs besides the reply. */
/** What every answer of this API shows of its own. */
export interface AnswerMeta {
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly usagePolicy: 'exact' | 'zeros';
}

export interface ResponseMeta extends AnswerMeta {
  /** The request body to echo, without its input, which is large and not echoed. */
  readonly echo: Omit<CreateResponse, 'input'>;
  readonly tools: readonly Tool[];
  readonly effort: string | null;
  /** From the request, or from the alias that it names. */
  readonly serviceTier: string | null;
  readonly includeEncryptedReasoning: boolean;
  /** Whether the client is codex. */
  readonly isForCodex: boolean;
  readonly isStored: boolean;
  /** Whether the response runs without a client. */
  readonly isBackground: boolean;
  /** The conversation that the response continues. */
  readonly continues: Continues | null;
}

export type ResponseBody = ReturnType<typeof responseFields> & {
  readonly status: 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed';
  readonly output: readonly OutputItemJson[];
};

/** The response before its first item. */
export const projectStarted = (
  meta: ResponseMeta,
  status: 'queued' | 'in_progress' = 'in_progress',
): ResponseBody => ({
  ...responseFields(meta),
  status,
  output: [],
});

/** The finished response: the JSON body, and the content of the last stream event. */
export const projectReply = (reply: Reply, meta: ResponseMeta): ResponseBody => {
  const ended = projectOutcome(reply.outcome, meta);
  return {
    ...responseFields(meta),
    ...ended,
    completed_at: ended.status === 'completed' ? Math.floor(reply.endedAt / 1000) : null,
    output: reply.items.map((item) => projectItem(item, meta)),
    usage: projectUsage(reply.usage, meta.usagePolicy),
    ...(reply.isUnstored === true ? { store: false } : {}),
  };
};

/** All fields that are known before the turn runs. Every response object has all keys. */
const responseFields = (meta: ResponseMeta) => {
  const { echo, continues } = meta;
  return {
    id: meta.id,
    object: 'response' as const,
    created_at: meta.createdAt,
    created: meta.createdAt,
    completed_at: null as number | null,
    error: null as { code: string; message: string } | null,
    incomplete_details: null as { reason: string } | null,
    instructions: echo.instructions ?? null,
    max_output_tokens: echo.max_output_tokens ?? null,
    max_tool_calls: echo.max_tool_calls ?? null,
    model: echo.model,
    parallel_tool_calls: echo.parallel_tool_calls ?? true,
    previous_response_id: continues?.kind === 'response' ? continues.id : null,
    ...(continues?.kind === 'conversation' ? { conversation: { id: continues.id } } : {}),
    prompt_cache_key: echo.prompt_cache_key ?? null,
    ...(echo.prompt_cache_retention ? { prompt_cache_retention: echo.prompt_cache_retention } : {}),
    reasoning: {
      effort: meta.effort,
      summary: echo.reasoning?.summary ?? echo.reasoning?.generate_summary ?? null,
      ...(echo.reasoning?.context ? { context: echo.reasoning.context } : {}),
    },
    safety_identifier: echo.safety_identifier ?? null,
    // The upstream does not report the actual tier; `auto` means the default here.
    service_tier: meta.serviceTier && meta.serviceTier !== 'auto' ? meta.serviceTier : 'default',
    store: meta.isStored,
    background: meta.isBackground,
    temperature: echo.temperature ?? 1,
    top_p: echo.top_p ?? 1,
    presence_penalty: echo.presence_penalty ?? 0,
    frequency_penalty: echo.frequency_penalty ?? 0,
    top_logprobs: echo.top_logprobs ?? 0,
    text: { format: projectFormat(echo), verbosity: echo.text?.verbosity ?? 'medium' },
    tool_choice: echo.tool_choice ?? 'auto',
    tools: meta.tools.map(projectTool),
    truncation: echo.truncation ?? 'disabled',
    usage: null as ReturnType<typeof projectUsage>,
    metadata: echo.metadata ?? {},
    ...(typeof echo.user === 'string' ? { user: echo.user } : {}),
  };
};

/** Functions are echoed with all fields, other tools as the client sent them. */
const projectTool = (tool: Tool) => {
  switch (tool.kind) {
    case 'function': {
      const { kind: type, name, description, parameters, strict, more } = tool;
      return { type, name, description, parameters, strict: strict ?? false, ...more };
    }
    case 'custom': {
      const { kind: type, name, description, format, more } = tool;
      return { type, name, ...present({ description }), format: format ?? { type: 'text' }, ...more };
    }
    case 'namespace':
      return tool.raw;
    case 'hosted':
      return tool.raw.type === 'mcp' ? withoutCredentials(tool.raw) : tool.raw;
    default:
      return assertNever(tool);
  }
};

const HIDDEN = '<redacted>';

/** Removes credentials, because clients may store or log responses. */
const withoutCredentials = ({ headers, ...tool }: RawTool): JsonObject => ({
  ...tool,
  ...('authorization' in tool ? { authorization: HIDDEN } : {}),
  ...(isJsonObject(headers)
    ? { headers: Object.fromEntries(Object.keys(headers).map((name) => [name, HIDDEN])) }
    : {}),
});

const projectFormat = (echo: ResponseMeta['echo']) => {
  const format = echo.text?.format;
  if (!format || format.type === 'text') return { type: 'text' as const };
  if (format.type === 'json_object') return { type: 'json_object' as const };
  return {
    type: 'json_schema' as const,
    name: format.name,
    ...(typeof format.description === 'string' ? { description: format.description } : {}),
    schema: format.schema,
    strict: format.strict ?? false,
  };
};

const projectOutcome = (outcome: Outcome, meta: ResponseMeta) => {
  switch (outcome.kind) {
    case 'completed':
    case 'tool-calls':
      return { status: 'completed' as const, error: null, incomplete_details: null };
    case 'incomplete':
      return { status: 'incomplete' as const, error: null, incomplete_details: { reason: outcome.reason } };
    case 'failed':
      return {
        status: 'failed' as const,
        error: { code: responseErrorCode(outcome.failure, meta), message: outcome.failure.message },
        incomplete_details: null,
      };
    default:
      return assertNever(outcome);
  }
};

/** Additional codes that codex handles. */
const KNOWN_TO_CODEX: ReadonlySet<Failure['kind']> = new Set([
  'context_length_exceeded',
  'insufficient_quota',
]);

/** The error of a response has a closed list of codes; the separate `error` event has the exact one. */
const responseErrorCode = (failed: Failure, { isForCodex }: ResponseMeta): string => {
  if (isForCodex && KNOWN_TO_CODEX.has(failed.kind)) return failed.kind;
  if (failed.status === 429) return 'rate_limit_exceeded';
  if (failed.kind === 'invalid_image') return 'invalid_image';
  return failed.status >= 400 && failed.status < 500 ? 'invalid_prompt' : 'server_error';
};

export const projectUsage = (usage: Usage | null, policy: ResponseMeta['usagePolicy']) => {
  if (usage === null && policy === 'exact') return null;
  return {
    input_tokens: usage?.inputTokens ?? 0,
    input_tokens_details: {
      cached_tokens: usage?.cachedInputTokens ?? 0,
      cache_write_tokens: usage?.cacheWriteInputTokens ?? 0,
    },
    output_tokens: usage?.outputTokens ?? 0,
    output_tokens_details: { reasoning_tokens: usage?.reasoningTokens ?? 0 },
    total_tokens: usage?.totalTokens ?? 0,
  };
};

export type OutputItemJson = ReturnType<typeof projectItem>;

/** An item in Responses API form; an open item has only what is known at its start. */
export const projectItem = (
  item: Produced,
  meta: Pick<ResponseMeta, 'includeEncryptedReasoning'>,
  isOpen = false,
) => {
  switch (item.kind) {
    case 'message':
      return {
        id: item.id,
        type: 'message' as const,
        status: statusOf(item, isOpen),
        role: 'assistant' as const,
        content: item.parts.flatMap(projectPart),
        ...(item.phase === undefined ? {} : { phase: item.phase }),
      };
    case 'reasoning':
      return {
        id: item.id,
        type: 'reasoning' as const,
        summary: item.summary.map(summaryPart),
        ...((item.content ?? []).length === 0 ? {} : { content: item.content?.map(reasoningPart) }),
        ...(meta.includeEncryptedReasoning && item.encryptedContent !== undefined
          ? { encrypted_content: item.encryptedContent }
          : {}),
      };
    case 'tool-call':
      return {
        id: item.id,
        ...(item.tool === 'function'
          ? { type: 'function_call' as const }
          : { type: 'custom_tool_call' as const }),
        status: statusOf(item, isOpen),
        call_id: item.callId,
        name: item.name,
        ...(item.namespace === undefined ? {} : { namespace: item.namespace }),
        ...(item.tool === 'function' ? { arguments: item.input } : { input: item.input }),
        ...item.more,
      };
    case 'hosted-call':
      return { ...rawOf(item), ...(item.status === 'incomplete' ? { status: cutStatus(item.raw) } : {}) };
    case 'opaque':
      return rawOf(item);
    case 'compaction':
      return {
        id: item.id,
        type: 'compaction' as const,
        encrypted_content: isSummary(item) ? wrapSummary(item.summary) : item.encryptedContent,
      };
    default:
      return assertNever(item);
  }
};

/** The status of a truncated call: some types have one for it, the others fail. */
const cutStatus = ({ type }: RawItem): string => CUT[type] ?? 'failed';

const CUT: Readonly<Record<string, string>> = {
  computer_call: 'incomplete',
  local_shell_call: 'incomplete',
  shell_call: 'incomplete',
  tool_search_call: 'incomplete',
  apply_patch_call: 'in_progress',
};

/** Output has only text and refusals, no images. */
const projectPart = (
  part: Part,
): readonly (ReturnType<typeof textPart> | ReturnType<typeof refusalPart>)[] => {
  if (part.kind === 'text') return [textPart(part.text, part.annotations, part.logprobs)];
  return part.kind === 'refusal' ? [refusalPart(part.text)] : [];
};

export const textPart = (
  text: string,
  annotations: readonly unknown[] = [],
  logprobs: readonly unknown[] = [],
) => ({ type: 'output_text' as const, annotations, logprobs, text });
export const refusalPart = (refusal: string) => ({ type: 'refusal' as const, refusal });
export const summaryPart = (text: string) => ({ type: 'summary_text' as const, text });
export const reasoningPart = (text: string) => ({ type: 'reasoning_text' as const, text });

const statusOf = ({ status = 'completed' }: { readonly status?: ItemStatus }, isOpen: boolean) =>
  isOpen ? ('in_progress' as const) : status;
