import { gatewayError } from '../../canonical/failure/failure.ts';
import { findPairingProblem } from '../../canonical/request/item-facts.ts';
import type { OutputFormat } from '../../canonical/request/turn-request.ts';
import { acceptedPrompt, type ReadBody } from '../../apis/common-fields.ts';
import { readCache, readSampling, unlessZero } from '../shared/field-schemas.ts';
import { namesWhere, unreadFields, emptyArray, missing, parseBody } from '../../apis/validation.ts';
import { bodyObject, rejectStreamOptions, stopsOf, type ChatTurnOptions } from './common.ts';
import { formatOf } from '../responses/input/format.ts';
import {
  asCustomCalls,
  readChatTools,
  type ReadTools,
  eitherForm,
  flatCustomNames,
  rejectClientRunTools,
} from './tools.ts';
import { readMessages, type ReadMessages } from './messages.ts';
import { chatNames, CHAT_PARAMETERS, createChatSchema, type CreateChat } from './parameters.ts';
import { append } from '../../kit/collections/lists.ts';
import { isJsonObject, type JsonObject } from '../../kit/json/json.ts';
import { quoted } from '../../kit/text/display.ts';
import type { KeptChat } from '../../turns/api.ts';
import { asksForCompaction } from '../../canonical/request/compaction.ts';
import type { CreateResponse } from '../responses/input/parameters.ts';
import { parseResponse, toTurnRequest } from '../responses/input/to-turn.ts';
import type { PlacedItems } from '../responses/input/input-items.ts';

type BasicFields = Pick<CreateChat, 'model' | 'stream' | 'stream_options' | 'n'>;

export interface ParsedChat extends ReadBody<BasicFields>, Pick<ReadTools, 'isLegacy' | 'sentAsFunctions'> {
  /** The location of the output format in the body. */
  readonly formatPlace: string;
  /** What is kept of the request if the client asked for it; null: nothing. */
  readonly stored: Pick<KeptChat, 'model' | 'metadata' | 'messages'> | null;
}

export const chatToTurn = (body: unknown, options: ChatTurnOptions): ParsedChat => {
  const object = bodyObject(body);
  if (hasResponsesForm(object)) return readResponsesForm(object, options);
  const parsed = parseBody(createChatSchema, object);
  rejectUnsupported(parsed);
  const ignored = unreadFields(createChatSchema, object, '');
  const read = readConversation(parsed, ignored);
  append(ignored, read.unread);
  checkPairs(read);
  const tools = readChatTools(parsed, ignored);
  append(ignored, withoutEffect(parsed));
  const items = asCustomCalls(read.items, tools.sentAsFunctions);
  const prompt = acceptedPrompt({ instructions: null, items, places: read.places }, options, ignored);
  const model = options.models.resolve(parsed.model);
  const hasLogprobs = parsed.logprobs === true;
  return {
    parsed,
    ignored,
    names: chatNames({
      ...tools,
      places: prompt.places,
      hasReasoning: (parsed.reasoning_effort ?? null) === null && (parsed.reasoning?.effort ?? null) !== null,
    }),
    isLegacy: tools.isLegacy,
    sentAsFunctions: tools.sentAsFunctions,
    formatPlace: 'response_format.json_schema.schema',
    stored: parsed.store === true ? storedOf(parsed) : null,
    request: {
      model: model.model,
      instructions: null,
      items: prompt.items,
      tools: tools.tools,
      toolChoice: tools.choice,
      // The legacy form supports only one call.
      parallelToolCalls: tools.isLegacy ? false : (parsed.parallel_tool_calls ?? null),
      maxToolCalls: null,
      canApprove: false,
      reasoning: {
        effort: readEffort(parsed) ?? model.effort,
        summary: parsed.reasoning?.summary ?? null,
        context: null,
      },
      format: readFormat(parsed),
      verbosity: parsed.verbosity ?? null,
      serviceTier: parsed.service_tier ?? model.serviceTier,
      maxOutputTokens: parsed.max_completion_tokens ?? parsed.max_tokens ?? null,
      stop: stopsOf(parsed.stop),
      sampling: readSampling(parsed),
      // Chat has a field for log probabilities in every choice, so they are required if requested.
      logprobs: {
        top: hasLogprobs ? unlessZero(parsed.top_logprobs) : null,
        isNeeded: hasLogprobs,
      },
      truncation: null,
      contextManagement: null,
      include: hasLogprobs ? ['message.output_text.logprobs'] : [],
      cache: readCache(parsed),
      metadata: parsed.metadata ?? null,
      clientMetadata: null,
      user: parsed.user ?? null,
      safetyIdentifier: parsed.safety_identifier ?? null,
    },
  };
};

const storedOf = ({ model, metadata, messages, prompt }: CreateChat): ParsedChat['stored'] => ({
  model,
  metadata: metadata ?? {},
  messages: [
    ...(messages ?? []).filter((message) => isJsonObject(message)),
    ...(typeof prompt === 'string' && prompt !== '' ? [{ role: 'user', content: prompt }] : []),
  ],
});

const rejectUnsupported = (parsed: CreateChat): void => {
  rejectStreamOptions(parsed);
  if (parsed.modalities?.includes('audio') === true) {
    throw gatewayError('unsupported_value', {
      param: 'modalities',
      message: `Unsupported value: 'modalities' with 'audio'. ${CHAT_PARAMETERS.modalities.note}`,
    });
  }
  if ((parsed.max_tokens ?? null) !== null && (parsed.max_completion_tokens ?? null) !== null) {
    throw gatewayError('invalid_value', {
      param: 'max_tokens',
      message: "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
    });
  }
  if ((parsed.top_logprobs ?? 0) > 0 && parsed.logprobs !== true) {
    throw gatewayError('invalid_value', {
      param: 'top_logprobs',
      message: "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.",
    });
  }
};

/** Parses the messages; `prompt` becomes the user message of a request without one. */
const readConversation = (parsed: CreateChat, ignored: string[]): ReadMessages => {
  const { messages, prompt } = parsed;
  const hasPrompt = typeof prompt === 'string' && prompt !== '';
  if ((messages ?? null) === null && !hasPrompt) throw missing('messages');
  if (messages?.length === 0 && !hasPrompt) throw emptyArray('messages');
  const read = readMessages(messages ?? []);
  if (read.items.some((item) => item.kind === 'message' && item.role === 'user')) {
    if (hasPrompt) ignored.push('prompt');
    return read;
  }
  // OpenAI also answers a conversation without a user message.
  if (!hasPrompt) return read.items.length === 0 ? { ...read, ...EMPTY_ANSWER } : read;
  return {
    items: [...read.items, { kind: 'message', role: 'user', parts: [{ kind: 'text', text: prompt }] }],
    places: [...read.places, 'prompt'],
    unread: read.unread,
  };
};

/** Replaces a conversation of only empty messages: the app-server needs at least one item. */
const EMPTY_ANSWER: PlacedItems = {
  items: [{ kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: '' }] }],
  places: ['messages[0]'],
};

const checkPairs = ({ items, places }: ReadMessages): void => {
  const problem = findPairingProblem(items);
  if (problem === null) return;
  const { kind, index, callId } = problem;
  const at = places[index] ?? 'messages';
  const id = quoted(callId);
  const unanswered = at.endsWith('.function_call')
    ? `An assistant message with 'function_call' must be followed by a function message responding to it (${at}).`
    : `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${id} (${at}).`;
  const uncalled = `Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls' (${at}, tool_call_id ${id}).`;
  const [param, message] = {
    'call-without-output': [at, unanswered],
    'output-without-call': [`${at}.role`, uncalled],
    'duplicate-call': [`${at}.id`, `Duplicate tool call with id ${id} (${at}).`],
    'duplicate-output': [`${at}.tool_call_id`, `Duplicate tool message with tool_call_id ${id} (${at}).`],
  }[kind] as [string, string];
  throw gatewayError('invalid_value', { param, message });
};

const readEffort = (parsed: CreateChat): string | null => {
  const effort = parsed.reasoning_effort ?? null;
  const inObject = parsed.reasoning?.effort ?? null;
  if (effort !== null && inObject !== null && effort !== inObject) {
    throw gatewayError('invalid_value', {
      param: 'reasoning.effort',
      message: `Invalid 'reasoning.effort': '${inObject}' contradicts 'reasoning_effort', which is '${effort}'.`,
    });
  }
  return effort ?? inObject;
};

const readFormat = (parsed: CreateChat): OutputFormat => {
  const format = parsed.response_format;
  const place = 'response_format.json_schema';
  if (format?.type === 'json_schema' && !format.json_schema) throw missing(place);
  return formatOf(format ? { ...format.json_schema, type: format.type } : null, place);
};

/** Recognised fields that have no effect with any backend. */
const withoutEffect = (parsed: CreateChat): readonly string[] =>
  namesWhere({
    'stream_options.include_obfuscation': parsed.stream_options?.include_obfuscation,
    logit_bias: Object.keys(parsed.logit_bias ?? {}).length > 0,
    audio: parsed.audio,
    prediction: parsed.prediction,
    moderation: parsed.moderation,
  });

/** Cursor posts Responses bodies to the Chat path, and expects Chat answers. */
const hasResponsesForm = (body: JsonObject): boolean => {
  if ((body['input'] ?? null) === null) return false;
  if (!hasMessages(body)) return true;
  throw gatewayError('invalid_value', {
    param: 'input',
    message: "Invalid 'input': 'messages' and 'input' cannot be used in the same request.",
  });
};

const hasMessages = ({ messages }: JsonObject): boolean =>
  (messages ?? null) !== null && !(Array.isArray(messages) && messages.length === 0);

/** Parses the body as a Responses request with its own parameter names; only the answer is Chat's. */
const readResponsesForm = (body: JsonObject, options: ChatTurnOptions): ParsedChat => {
  const { messages: _, ...plain } = body;
  const list = Array.isArray(plain['tools']) ? plain['tools'] : [];
  const unread: string[] = [];
  const read = toTurnRequest(parseResponse(plain), { ...options, toolForm: eitherForm(list, unread) });
  const { parsed, request } = read;
  refuseState(parsed);
  rejectClientRunTools(request.tools);
  refuseCompaction(request);
  const sentAsFunctions = flatCustomNames(list, request.tools);
  return {
    parsed,
    names: read.names,
    ignored: [
      ...read.ignored,
      ...unread,
      ...namesWhere({ store: parsed.store }),
      // Reasoning is always requested and kept here; Chat has no field for it.
      ...(parsed.include?.includes('reasoning.encrypted_content') === true
        ? ['include.reasoning.encrypted_content']
        : []),
    ],
    isLegacy: false,
    sentAsFunctions,
    formatPlace: read.formatPlace,
    // A stored completion has the messages of its request.
    stored: null,
    request: {
      ...request,
      items: asCustomCalls(request.items, sentAsFunctions),
      canApprove: false,
    },
  };
};

/** Rejects what the id in a Chat answer could not be used for. */
const refuseState = ({ previous_response_id, conversation, background }: CreateResponse): void => {
  const [param] = namesWhere({ previous_response_id, conversation, background });
  if (param === undefined) return;
  throw gatewayError('unsupported_parameter', {
    param,
    message: `Unsupported parameter: '${param}'. Chat does not support it. Use the Responses API.`,
  });
};

/** Rejects a compaction, which Chat could not return. */
const refuseCompaction = (request: ParsedChat['request']): void => {
  if (!asksForCompaction(request)) return;
  throw gatewayError('unsupported_value', {
    param: 'input',
    message:
      "Unsupported value: 'input' asks for a compaction, which Chat does not support. Use the Responses API.",
  });
};
