import { z } from 'zod';

import type { ModelNames } from '../../../canonical/models/model-names.ts';
import type { Item } from '../../../canonical/request/item.ts';
import type { Tool, ToolChoice, ToolRef } from '../../../canonical/request/tool.ts';
import {
  PLAIN_REQUEST,
  type TurnRequest,
  type OutputFormat,
} from '../../../canonical/request/turn-request.ts';
import { gatewayError } from '../../../canonical/failure/failure.ts';
import { MAX_ID_CHARS, idText } from '../../../apis/bounds.ts';
import { acceptedPrompt, type ReadBody } from '../../../apis/common-fields.ts';
import { rejectUsed } from '../../../apis/parameters.ts';
import {
  namesWhere,
  unreadFields,
  missing,
  parseBody,
  noteUnread,
  readTagged,
} from '../../../apis/validation.ts';
import { append } from '../../../kit/collections/lists.ts';
import {
  isJsonObject,
  parseJsonObject,
  type JsonObject,
  isSameJson,
  type Json,
} from '../../../kit/json/json.ts';
import { findModel } from '../../models.ts';
import { limitedChoice, placeLateTools } from './late-tools.ts';
import { type ClientNames, backendName } from '../tool-names.ts';
import { readMessageItems, type ReadReasoning } from './messages.ts';
import { messagesNames, MESSAGES_PARAMETERS, createMessageSchema, type CreateMessage } from './parameters.ts';
import type { ThinkingDisplay } from '../reasoning/thinking-block.ts';
import { chooseEffort, readThinking } from './thinking.ts';
import { openThread, rejectRepeated, stateItem, THREAD_PLACE, type Thread } from './thread.ts';
import { MCP_PLACE } from './mcp-servers.ts';
import { readTools } from './tools.ts';
import { findPairingProblem } from '../../../canonical/request/item-facts.ts';
import { quoted } from '../../../kit/text/display.ts';
import { checkDeclared } from '../../../apis/schema-problem.ts';

export interface ParsedMessages extends ReadBody<Pick<CreateMessage, 'model' | 'stream'>> {
  /** The conversation that the body names; null: none. */
  readonly session: string | null;
  /** How the answer shows reasoning; null: not at all. */
  readonly thinking: ThinkingDisplay | null;
  /** The location of the output schema in the body. */
  readonly formatPlace: string;
  /** What the request adds to its thread. */
  readonly input: readonly Item[];
  readonly clientNames: ClientNames;
  /** Whether the request has `context_management`. */
  readonly editsContext: boolean;
}

export interface MessagesTurnOptions {
  readonly models: ModelNames;
  readonly ignoreClientPrompt: boolean;
  /** Only counted: no answer follows, so `max_tokens` is not needed. */
  readonly isCount: boolean;
  readonly readReasoning?: ReadReasoning;
  /** The stored items of the thread that the request continues; absent or empty: it continues none. */
  readonly chain?: readonly Item[];
}

/** Reads the body of a Messages request. */
export const messagesToTurn = (body: unknown, options: MessagesTurnOptions): ParsedMessages => {
  const { models, isCount } = options;
  const parsed = parseBody(createMessageSchema, body);
  if (!isCount && typeof parsed.max_tokens !== 'number') throw missing('max_tokens');
  rejectUnsupported(parsed);
  const ignored = unreadFields(createMessageSchema, body, '');
  const { read, thread, tools, own, prompt } = readConversation(parsed, options, ignored);
  append(ignored, withoutEffect(parsed));
  const { meaning: model, info } = findModel(models, parsed.model);
  const thinking = readThinking(parsed.thinking, ignored);
  const { format, place: formatAt } = readFormat(parsed);
  const said = read.effort ?? thread?.effort ?? null;
  const asked = said ?? parsed.output_config?.effort ?? null;
  const isOverruled = model.effort !== null && asked !== null && asked !== model.effort;
  if (isOverruled) ignored.push('output_config.effort');
  const choice = readMessagesToolChoice(parsed.tool_choice, own.callable, ignored);
  return {
    parsed,
    ignored,
    names: messagesNames(
      { places: prompt.places, partPlaces: read.partPlaces, formatPlace: formatAt },
      (index) => {
        const place = tools.placeOf(index);
        return thread === null || place.startsWith(MCP_PLACE) ? place : THREAD_PLACE;
      },
    ),
    session: sessionIn(parsed.metadata?.user_id),
    thinking: thinking.display,
    formatPlace: `${formatAt}.schema`,
    clientNames: own.clientNames,
    editsContext: (parsed.context_management ?? null) !== null,
    input: [
      stateItem({ ...own, tools: thread === null ? (parsed.tools ?? []) : null, effort: said }),
      ...own.items,
    ],
    request: {
      ...PLAIN_REQUEST,
      model: model.model,
      items: prompt.items,
      tools: tools.tools,
      toolChoice: limitedChoice(choice.toolChoice, own),
      parallelToolCalls: choice.parallelToolCalls,
      maxToolCalls: tools.maxToolCalls,
      parsesArguments: true,
      needsUsage: true,
      include: own.callable.some(isWebSearch) ? ['web_search_call.action.sources'] : [],
      reasoning: {
        effort: chooseEffort(thinking, { asked, named: model.effort, supported: info.efforts }),
        summary: thinking.display === 'summarized' ? 'auto' : null,
        context: null,
      },
      format,
      serviceTier: parsed.speed === 'fast' ? 'priority' : model.serviceTier,
      maxOutputTokens: parsed.max_tokens ?? null,
      stop: parsed.stop_sequences ?? [],
      sampling: {
        ...PLAIN_REQUEST.sampling,
        temperature: parsed.temperature ?? null,
        topP: parsed.top_p ?? null,
      },
    },
  };
};

/** Reads the messages and tools of a request, after those of the thread that it continues. */
const readConversation = (parsed: CreateMessage, options: MessagesTurnOptions, ignored: string[]) => {
  const { isCount, readReasoning = () => null, chain = [] } = options;
  const read = readMessageItems(parsed.system, parsed.messages, readReasoning);
  append(ignored, read.unread);
  if (read.items.length === 0) throw noContent();
  const thread = openThread(chain);
  if (thread !== null) rejectRepeated(parsed);
  const tools = readTools(
    thread?.tools ?? parsed.tools ?? [],
    thread === null ? ignored : [],
    parsed.mcp_servers ?? [],
  );
  const own = placeLateTools(read, read.toolChanges, { read: tools, before: thread, ignored });
  const { items, places } = afterThread(thread, own);
  checkPairs({ items, places });
  if (!isCount) rejectPrefill(parsed.messages, read);
  const prompt = acceptedPrompt({ instructions: null, items, places }, options, ignored);
  return { read, thread, tools, own, prompt };
};

interface Conversation {
  readonly items: readonly Item[];
  readonly places: readonly string[];
}

const afterThread = (thread: Thread | null, { items, places }: Conversation): Conversation =>
  thread === null
    ? { items, places }
    : {
        items: [...thread.items, ...items],
        places: [...thread.items.map(() => THREAD_PLACE), ...places],
      };

/** Its answer lists the pages that were found. */
const isWebSearch = (tool: Tool): boolean => tool.kind === 'hosted' && tool.raw.type === 'web_search';

const rejectUnsupported = ({ container }: CreateMessage): void =>
  rejectUsed({ container }, MESSAGES_PARAMETERS);

const noContent = () =>
  gatewayError('invalid_value', {
    param: 'messages',
    message: 'messages: at least one message must have non-empty content.',
  });

/** Recognised fields that have no effect with any backend. */
const withoutEffect = (parsed: CreateMessage): readonly string[] =>
  namesWhere({
    top_k: parsed.top_k,
    context_management: (parsed.context_management?.edits ?? []).some((edit) => !keepsThinking(edit)),
    compaction: parsed.compaction,
    diagnostics: parsed.diagnostics,
    fallback_credit_token: parsed.fallback_credit_token,
    fallbacks: parsed.fallbacks,
    inference_geo: parsed.inference_geo,
    user_profile_id: parsed.user_profile_id,
    workspace_id: parsed.workspace_id,
  });

/** All thinking is kept anyway. */
const keepsThinking = ({ type, keep }: JsonObject): boolean => {
  if (type !== 'clear_thinking_20251015') return false;
  return keep === 'all' || (isJsonObject(keep) && keep['type'] === 'all');
};

/** Claude Code sends JSON in this field. Its older versions end it with the session. */
const sessionIn = (userId: string | null | undefined): string | null => {
  if (typeof userId !== 'string' || userId.length > MAX_ID_CHARS) return null;
  const at = userId.lastIndexOf(SESSION);
  const id = userId.startsWith('{')
    ? parseJsonObject(userId)?.['session_id']
    : at > 0
      ? userId.slice(at + SESSION.length)
      : null;
  return typeof id === 'string' && id !== '' ? id : null;
};

const SESSION = '_session_';

interface CheckedConversation {
  readonly items: readonly Item[];
  /** The location of each item in the body. */
  readonly places: readonly string[];
}

/** Throws, in Anthropic's words, if a call has no result or a result no call. */
const checkPairs = ({ items, places }: CheckedConversation): void => {
  const problem = findPairingProblem(items);
  if (problem === null) return;
  const { kind, index, callId } = problem;
  const at = places[index] ?? 'messages';
  const id = quoted(callId);
  const [param, message] = {
    'call-without-output': [
      at,
      `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${id}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
    ],
    'output-without-call': [
      `${at}.tool_use_id`,
      `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
    ],
    'duplicate-call': [`${at}.id`, `\`tool_use\` ids must be unique: ${id} is used twice.`],
    'duplicate-output': [
      `${at}.tool_use_id`,
      `each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}.`,
    ],
  }[kind] as [string, string];
  throw gatewayError('invalid_value', { param, message: `${param}: ${message}` });
};

/**
 * Throws if the request ends with the beginning of an answer. No backend can continue a text: it would begin a new one,
 * and clients would join the two. Newer Claude models reject it in the same words.
 */
const rejectPrefill = (messages: readonly unknown[], { places }: CheckedConversation): void => {
  const last = messages.at(-1);
  if (!isJsonObject(last) || last['role'] !== 'assistant') return;
  const at = `messages[${messages.length - 1}]`;
  const place = places.at(-1) ?? '';
  if (place !== at && !place.startsWith(`${at}.`)) return;
  throw gatewayError('unsupported_value', {
    param: at,
    message: `${at}: This model does not support assistant message prefill. The conversation must end with a user message.`,
  });
};

const CHOICES = ['auto', 'any', 'tool', 'none'] as const;
const choiceSchema = z.object({ type: z.enum(CHOICES), disable_parallel_tool_use: z.boolean().nullish() });
const namedSchema = choiceSchema.extend({ name: idText });

/** Reads the tool choice. `tools` are all tools that the model can call. */
export const readMessagesToolChoice = (
  parsed: JsonObject | null | undefined,
  tools: readonly Tool[],
  ignored: string[],
): Pick<TurnRequest, 'toolChoice' | 'parallelToolCalls'> => {
  if (!parsed) return { toolChoice: { mode: 'auto' }, parallelToolCalls: null };
  const { tag } = readTagged(parsed, 'type', CHOICES, 'tool_choice');
  const schema = tag === 'tool' ? namedSchema : choiceSchema;
  noteUnread(ignored, schema, parsed, 'tool_choice');
  const { disable_parallel_tool_use: isOneByOne } = parseBody(schema, parsed, 'tool_choice');
  return {
    toolChoice: tag === 'tool' ? namedChoice(parsed, tools) : choiceOf(tag, tools),
    parallelToolCalls: isOneByOne === true ? false : null,
  };
};

const choiceOf = (tag: 'auto' | 'any' | 'none', tools: readonly Tool[]): ToolChoice => {
  if (tag !== 'any') return { mode: tag };
  if (tools.length > 0) return { mode: 'required' };
  throw gatewayError('invalid_value', {
    param: 'tool_choice',
    message: "Tool choice 'any' must be specified with 'tools' parameter.",
  });
};

const namedChoice = (parsed: JsonObject, tools: readonly Tool[]): ToolChoice => {
  const { name } = parseBody(namedSchema, parsed, 'tool_choice');
  const isHosted = tools.some((tool) => tool.kind === 'hosted' && tool.raw.type === name);
  const tool: ToolRef = isHosted
    ? { kind: 'hosted', raw: { type: name } }
    : { kind: 'function', name: backendName(name) };
  checkDeclared([tool], tools, () => 'tool_choice.name');
  return { mode: 'named', tool };
};

interface ReadFormat {
  readonly format: OutputFormat;
  /** The location of the format in the body. */
  readonly place: 'output_config.format' | 'output_format';
}

/** The name that codex itself gives to every schema. Anthropic's API has none. */
const NAME = 'codex_output_schema';

/** Reads the output format under its name or its older one. Throws if both are sent and differ. */
const readFormat = ({ output_config: config, output_format: older }: CreateMessage): ReadFormat => {
  const newer = config?.format;
  if (newer && older && !isSameJson(newer, older)) {
    throw gatewayError('invalid_value', {
      param: 'output_format',
      message: "Invalid 'output_format': it differs from 'output_config.format'. Send one of them.",
    });
  }
  const place = !newer && older ? 'output_format' : 'output_config.format';
  const schema = (newer ?? older)?.schema;
  if (schema === undefined) return { format: { kind: 'text' }, place };
  return {
    place,
    format: {
      kind: 'json-schema',
      name: NAME,
      description: null,
      schema,
      strict: isStrict(schema) ? true : null,
    },
  };
};

/** Larger schemas are not strict here. */
const MAX_SUBSCHEMAS = 5_000;

/**
 * Whether OpenAI accepts a schema as strict: every object lists all its properties as required and allows no others.
 * Anthropic also allows optional properties, and clients cannot know which backend reads their schema.
 */
const isStrict = (schema: JsonObject): boolean => {
  const open: Json[] = [schema];
  let seen = 0;
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    seen += 1;
    if (seen > MAX_SUBSCHEMAS) return false;
    if (typeof one !== 'object' || one === null) continue;
    const members = Object.values(one);
    if (members.length > MAX_SUBSCHEMAS) return false;
    for (const member of members) if (member !== undefined) open.push(member);
    if (!isJsonObject(one)) continue;
    const { properties } = one;
    if (isJsonObject(properties) || one['type'] === 'object') {
      const { required } = one;
      const names = new Set(Array.isArray(required) ? (required as readonly Json[]) : []);
      const own = Object.keys(isJsonObject(properties) ? properties : {});
      if (one['additionalProperties'] !== false || own.some((name) => !names.has(name))) return false;
    }
  }
  return true;
};
