import { fail } from '../../canonical/failure.ts';
import { findPairingProblem } from '../../canonical/pairing.ts';
import type { AskedTurn, OutputFormat } from '../../canonical/turn-request.ts';
import { withoutClientPrompt, type ClientPrompt } from '../client-prompt.ts';
import type { ParameterNames } from '../parameter-names.ts';
import { readCache, readSampling, unlessZero } from '../settings.ts';
import { unreadFields } from '../unread-fields.ts';
import { emptyArray, missing, parseWire } from '../validation.ts';
import { bodyObject, refuseStreamOptions, stopsOf, type ToTurnOptions } from './common.ts';
import { readMessages, type ReadMessages } from './messages.ts';
import { chatNames } from './names.ts';
import { CHAT_PARAMETERS } from './parameters.ts';
import { createChatSchema, type CreateChat } from './schema.ts';
import { readChatTools } from './tools.ts';
import { append } from '../../kit/append.ts';
import { quoted } from '../../kit/quote.ts';

export interface ChatAsk {
  readonly wire: CreateChat;
  readonly request: AskedTurn;
  readonly names: ParameterNames;
  /** Fields that will have no effect, by their place in the body. */
  readonly ignored: readonly string[];
  /** The client uses `functions`, not `tools`. */
  readonly isLegacy: boolean;
}

export const toTurnRequest = (body: unknown, options: ToTurnOptions): ChatAsk => {
  const object = bodyObject(body);
  const wire = parseWire(createChatSchema, object);
  refuseUnservable(wire);
  const ignored = unreadFields(createChatSchema, object, '');
  const read = readConversation(wire, ignored);
  append(ignored, read.unread);
  checkPairs(read);
  const tools = readChatTools(wire, ignored);
  append(ignored, withoutEffect(wire));
  let prompt: ClientPrompt = { instructions: null, items: read.items, places: read.places };
  if (options.ignoreClientPrompt) {
    const rest = withoutClientPrompt(prompt);
    append(ignored, rest.ignored);
    prompt = rest;
  }
  const model = options.models.resolve(wire.model);
  const hasLogprobs = wire.logprobs === true;
  return {
    wire,
    ignored,
    names: chatNames({
      places: prompt.places,
      isLegacy: tools.isLegacy,
      hasReasoning: (wire.reasoning_effort ?? null) === null && (wire.reasoning?.effort ?? null) !== null,
    }),
    isLegacy: tools.isLegacy,
    request: {
      model: model.model,
      instructions: null,
      items: prompt.items,
      tools: tools.tools,
      toolChoice: tools.choice,
      // The older form has room for one call only.
      parallelToolCalls: tools.isLegacy ? false : (wire.parallel_tool_calls ?? null),
      reasoning: {
        effort: readEffort(wire) ?? model.effort,
        summary: wire.reasoning?.summary ?? null,
      },
      format: readFormat(wire),
      verbosity: wire.verbosity ?? null,
      serviceTier: wire.service_tier ?? model.serviceTier,
      maxOutputTokens: wire.max_completion_tokens ?? wire.max_tokens ?? null,
      stop: stopsOf(wire.stop),
      sampling: readSampling(wire),
      // A chat that asks for log probabilities has a place for them in every choice.
      logprobs: {
        top: hasLogprobs ? unlessZero(wire.top_logprobs) : null,
        isNeeded: hasLogprobs,
      },
      truncation: null,
      include: hasLogprobs ? ['message.output_text.logprobs'] : [],
      cache: readCache(wire),
      metadata: wire.metadata ?? null,
      user: wire.user ?? null,
      safetyIdentifier: wire.safety_identifier ?? null,
    },
  };
};

const refuseUnservable = (wire: CreateChat): void => {
  refuseStreamOptions(wire);
  if (wire.modalities?.includes('audio') === true) {
    throw fail('unsupported_value', {
      param: 'modalities',
      message: `Unsupported value: 'modalities' with 'audio'. ${CHAT_PARAMETERS.modalities.note}`,
    });
  }
  if (wire.web_search_options) {
    throw fail('unsupported_parameter', {
      param: 'web_search_options',
      message: `Unsupported parameter: 'web_search_options'. ${CHAT_PARAMETERS.web_search_options.note}`,
    });
  }
  if ((wire.max_tokens ?? null) !== null && (wire.max_completion_tokens ?? null) !== null) {
    throw fail('invalid_value', {
      param: 'max_tokens',
      message: "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
    });
  }
  if ((wire.top_logprobs ?? 0) > 0 && wire.logprobs !== true) {
    throw fail('invalid_value', {
      param: 'top_logprobs',
      message: "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.",
    });
  }
};

/** The messages; `prompt` stands in for a user's message where there is none. */
const readConversation = (wire: CreateChat, ignored: string[]): ReadMessages => {
  const { messages, prompt } = wire;
  const hasPrompt = typeof prompt === 'string' && prompt !== '';
  if ((messages ?? null) === null && !hasPrompt) throw missing('messages');
  if (messages?.length === 0 && !hasPrompt) throw emptyArray('messages');
  const read = readMessages(messages ?? []);
  if (read.items.some((item) => item.kind === 'message' && item.role === 'user')) {
    if (hasPrompt) ignored.push('prompt');
    return read;
  }
  if (!hasPrompt) {
    throw fail('invalid_value', {
      param: 'messages',
      message: "Invalid 'messages': no user message was provided.",
    });
  }
  return {
    items: [...read.items, { kind: 'message', role: 'user', parts: [{ kind: 'text', text: prompt }] }],
    places: [...read.places, 'prompt'],
    unread: read.unread,
  };
};

const checkPairs = ({ items, places }: ReadMessages): void => {
  const problem = findPairingProblem(items);
  if (problem === null) return;
  const { kind, index, callId } = problem;
  const at = places[index] ?? 'messages';
  switch (kind) {
    case 'call-without-output':
      throw fail('invalid_value', {
        param: at,
        message: at.endsWith('.function_call')
          ? `An assistant message with 'function_call' must be followed by a function message responding to it (${at}).`
          : `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${quoted(callId)} (${at}).`,
      });
    case 'output-without-call':
      throw fail('invalid_value', {
        param: `${at}.role`,
        message: `Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls' (${at}, tool_call_id ${quoted(callId)}).`,
      });
    case 'duplicate-call':
      throw fail('invalid_value', {
        param: `${at}.id`,
        message: `Duplicate tool call with id ${quoted(callId)} (${at}).`,
      });
    case 'duplicate-output':
      throw fail('invalid_value', {
        param: `${at}.tool_call_id`,
        message: `Duplicate tool message with tool_call_id ${quoted(callId)} (${at}).`,
      });
  }
};

const readEffort = (wire: CreateChat): string | null => {
  const effort = wire.reasoning_effort ?? null;
  const inObject = wire.reasoning?.effort ?? null;
  if (effort !== null && inObject !== null && effort !== inObject) {
    throw fail('invalid_value', {
      param: 'reasoning.effort',
      message: `Invalid 'reasoning.effort': '${inObject}' contradicts 'reasoning_effort', which is '${effort}'.`,
    });
  }
  return effort ?? inObject;
};

const readFormat = (wire: CreateChat): OutputFormat => {
  const format = wire.response_format;
  if (!format || format.type === 'text') return { kind: 'text' };
  if (format.type === 'json_object') return { kind: 'json-object' };
  if (!format.json_schema) throw missing('response_format.json_schema');
  const { name, description, schema, strict } = format.json_schema;
  return {
    kind: 'json-schema',
    name,
    description: description ?? null,
    schema,
    strict: strict ?? null,
  };
};

/** Fields that were understood and change nothing, whatever the backend. */
const withoutEffect = (wire: CreateChat): string[] => {
  const candidates: readonly (readonly [string, boolean])[] = [
    ['stream_options.include_obfuscation', wire.stream_options?.include_obfuscation === true],
    ['logit_bias', Object.keys(wire.logit_bias ?? {}).length > 0],
    ['store', wire.store === true],
    ['audio', (wire.audio ?? null) !== null],
    ['prediction', (wire.prediction ?? null) !== null],
    ['moderation', (wire.moderation ?? null) !== null],
  ];
  return candidates.filter(([, without]) => without).map(([name]) => name);
};
