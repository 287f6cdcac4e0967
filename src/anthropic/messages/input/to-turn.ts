import type { ModelNames } from '../../../canonical/models/model-names.ts';
import type { Item } from '../../../canonical/request/item.ts';
import type { Tool } from '../../../canonical/request/tool.ts';
import { PLAIN_REQUEST } from '../../../canonical/request/turn-request.ts';
import { gatewayError } from '../../../canonical/failure/failure.ts';
import { MAX_ID_CHARS } from '../../../apis/bounds.ts';
import { acceptedPrompt } from '../../../apis/client-prompt.ts';
import type { ReadBody } from '../../../apis/common-fields.ts';
import { rejectUsed } from '../../../apis/parameters.ts';
import { namesWhere, unreadFields } from '../../../apis/unread-fields.ts';
import { missing, parseBody } from '../../../apis/validation.ts';
import { append } from '../../../kit/collections/lists.ts';
import { isJsonObject, parseJsonObject, type JsonObject } from '../../../kit/json/json.ts';
import { findModel } from '../../model-names.ts';
import { checkPairs, rejectPrefill } from './check-conversation.ts';
import { readFormat } from './format.ts';
import { limitedChoice, placeLateTools } from './late-tools.ts';
import type { ClientNames } from '../tool-names.ts';
import { readMessages, type ReadReasoning } from './messages.ts';
import { messagesNames } from './parameter-names.ts';
import { MESSAGES_PARAMETERS } from './parameters.ts';
import { createMessageSchema, type CreateMessage } from './schema.ts';
import type { ThinkingDisplay } from '../reasoning/thinking-block.ts';
import { chooseEffort, readThinking } from './thinking.ts';
import { openThread, rejectRepeated, stateItem, THREAD_PLACE, type Thread } from './thread.ts';
import { readToolChoice } from './tool-choice.ts';
import { MCP_PLACE } from './mcp-servers.ts';
import { readTools } from './tools.ts';

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

export interface ToTurnOptions {
  readonly models: ModelNames;
  readonly ignoreClientPrompt: boolean;
  /** Only counted: no answer follows, so `max_tokens` is not needed. */
  readonly isCount: boolean;
  readonly readReasoning?: ReadReasoning;
  /** The stored items of the thread that the request continues; absent or empty: it continues none. */
  readonly chain?: readonly Item[];
}

/** Reads the body of a Messages request. */
export const toTurnRequest = (body: unknown, options: ToTurnOptions): ParsedMessages => {
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
  const choice = readToolChoice(parsed.tool_choice, own.callable, ignored);
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
const readConversation = (parsed: CreateMessage, options: ToTurnOptions, ignored: string[]) => {
  const { isCount, readReasoning = () => null, chain = [] } = options;
  const read = readMessages(parsed.system, parsed.messages, readReasoning);
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
