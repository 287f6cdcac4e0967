import type { Item } from '../../../canonical/request/item.ts';
import type { ModelNames } from '../../../canonical/models/model-names.ts';
import { isCompactionTrigger } from '../../../canonical/request/compaction.ts';
import { gatewayError, type GatewayError } from '../../../canonical/failure/failure.ts';
import { itemFacts, findPairingProblem } from '../../../canonical/request/item-facts.ts';
import { allTools } from '../../../canonical/request/tool.ts';
import { assertNever } from '../../../kit/assert-never.ts';
import { isJsonObject, type JsonObject } from '../../../kit/json/json.ts';
import { bodyObject, type ChatTurnOptions as CommonOptions } from '../../chat/common.ts';
import { acceptedPrompt, type ReadBody } from '../../../apis/common-fields.ts';
import { checkTools } from '../../../apis/schema-problem.ts';
import { PLAIN_FORM, readToolList, type ToolForm } from '../../shared/read-tools.ts';
import { readCache, readSampling, unlessZero } from '../../shared/field-schemas.ts';
import { rejectUsed } from '../../../apis/parameters.ts';
import { namesWhere, unreadFields, emptyArray, missing, parseBody } from '../../../apis/validation.ts';
import {
  isChatField,
  rejectChatFields,
  responsesNames,
  RESPONSES_PARAMETERS,
  createResponseSchema,
  type CreateResponse,
} from './parameters.ts';
import { readFormat, readToolChoice } from './format.ts';
import { readInput, referencesIn, type ReadItems, type PlacedItems } from './input-items.ts';
import { recallOnce, type Recall } from './item-references.ts';
import type { Continues } from '../../../turns/api.ts';
import { append } from '../../../kit/collections/lists.ts';
import { quoted } from '../../../kit/text/display.ts';

export interface TranslatedResponse extends ReadBody<CreateResponse> {
  /** The fields with which the client requested reasoning. */
  readonly wantsReasoning: readonly string[];
  /** The location of the output schema in the body. */
  readonly formatPlace: string;
  /** The items of the body, without those of the conversation before it. */
  readonly input: readonly Item[];
}

export interface ToTurnOptions extends CommonOptions {
  /** The form of the tools, if another API was called. */
  readonly toolForm?: ToolForm;
  /** Finds items of earlier answers that the client references; null or absent: none are stored. */
  readonly recall?: Recall | null;
  /** The items of the conversation that the request continues. */
  readonly chain?: readonly Item[];
}

/** A body whose fields have the right types. */
export interface ParsedResponse {
  readonly parsed: CreateResponse & { readonly input: string | readonly unknown[] };
  /** Fields that the schema does not have. */
  readonly unread: readonly string[];
  /** The ids of earlier items that the input refers to. */
  readonly references: readonly string[];
  readonly continues: Continues | null;
  /** No model reads the input. Default: false. */
  readonly mayBeEmpty?: boolean;
}

/** Reads a body whose input is only counted: `model` and `input` may be missing. */
export const parseCounted = (
  body: unknown,
  { models: { list } }: { readonly models: ModelNames },
): ParsedResponse => {
  if (!isJsonObject(body)) return parseResponse(body);
  const model = body['model'] ?? list.standard ?? list.models[0]?.id ?? UNNAMED;
  const { input = null, previous_response_id, conversation } = body;
  const isEmpty = input === null && (previous_response_id ?? conversation ?? null) === null;
  const whole = { ...body, model, ...(isEmpty ? { input: [] } : {}), stream: false };
  return { ...parseResponse(whole), mayBeEmpty: isEmpty };
};

/** Without a model name, tokens are counted as for current models. */
const UNNAMED = 'unnamed';

/** Throws if a field has the wrong type. */
export const parseResponse = (body: unknown): ParsedResponse => {
  const object = bodyObject(body);
  rejectChatFields(object);
  const parsed = parseBody(createResponseSchema, object);
  const continues = continuesOf(parsed);
  const input = parsed.input ?? [];
  // A stored conversation may be continued without anything new.
  // A template would bring its own input, so it is rejected later, by its name.
  const hasInput = (parsed.input ?? null) !== null || (parsed.prompt ?? null) !== null;
  if (continues === null && !hasInput) throw missing('input');
  return {
    parsed: { ...parsed, input },
    unread: unreadFields(createResponseSchema, object, '').filter((name) => !isChatField(name)),
    references: referencesIn(input),
    continues,
  };
};

export const toTurnRequest = (
  { parsed, unread, mayBeEmpty = false }: ParsedResponse,
  options: ToTurnOptions,
): TranslatedResponse => {
  const ignored = [...unread];
  refuseUnsupported(parsed);
  const input = readInput(parsed.input, recallOnce(options.recall, options.chain ?? []));
  append(ignored, input.unread);
  const whole = afterChain(options.chain ?? [], input, chainPlace(parsed));
  if (whole.items.length === 0 && !mayBeEmpty) throw emptyArray('input');
  checkInput(whole);
  const { readers, placeOf } = options.toolForm ?? PLAIN_FORM;
  const tools = readToolList(parsed.tools ?? [], readers);
  checkTools(tools, placeOf);
  const toolChoice = readToolChoice(parsed.tool_choice, allTools({ tools, items: whole.items }));
  const model = options.models.resolve(parsed.model);
  append(ignored, withoutEffect(parsed));
  const { items, places } = whole;
  const prompt = acceptedPrompt(
    { instructions: parsed.instructions ?? null, items, places },
    options,
    ignored,
  );
  const { format, spelled, ...formatAt } = readFormat(parsed);
  return {
    parsed: spelled === null ? parsed : { ...parsed, text: { ...parsed.text, format: spelled } },
    ignored,
    wantsReasoning: wantsReasoning(parsed),
    names: responsesNames({ places: prompt.places, placeOf, format: formatAt }),
    formatPlace: `${formatAt.place}.schema`,
    input: input.items,
    request: {
      model: model.model,
      instructions: prompt.instructions,
      items: prompt.items,
      tools,
      toolChoice,
      parallelToolCalls: parsed.parallel_tool_calls ?? null,
      maxToolCalls: parsed.max_tool_calls ?? null,
      canApprove: true,
      reasoning: {
        effort: parsed.reasoning?.effort ?? model.effort,
        summary: parsed.reasoning?.summary ?? parsed.reasoning?.generate_summary ?? null,
        context: parsed.reasoning?.context ?? null,
        ...(parsed.reasoning?.mode ? { mode: parsed.reasoning.mode } : {}),
      },
      format,
      verbosity: parsed.text?.verbosity ?? null,
      serviceTier: parsed.service_tier ?? model.serviceTier,
      maxOutputTokens: parsed.max_output_tokens ?? null,
      stop: [],
      sampling: readSampling(parsed),
      logprobs: { top: unlessZero(parsed.top_logprobs), isNeeded: false },
      truncation: parsed.truncation === 'auto' ? 'auto' : null,
      // Reasoning is always requested; whether it is returned is decided in the response.
      include: (parsed.include ?? []).filter((value) => value !== 'reasoning.encrypted_content'),
      contextManagement: unlessEmpty(parsed.context_management),
      cache: readCache(parsed),
      ...(parsed.access_programs ? { accessPrograms: parsed.access_programs } : {}),
      ...(parsed.image ? { imageOptions: parsed.image } : {}),
      metadata: parsed.metadata ?? null,
      clientMetadata: parsed.client_metadata ?? null,
      user: parsed.user ?? null,
      safetyIdentifier: parsed.safety_identifier ?? null,
    },
  };
};

const unlessEmpty = (list: readonly JsonObject[] | null | undefined): readonly JsonObject[] | null =>
  list === null || list === undefined || list.length === 0 ? null : list;

const refuseUnsupported = ({ prompt }: CreateResponse): void => rejectUsed({ prompt }, RESPONSES_PARAMETERS);

/** The conversation that a body continues, by either of its two names. */
const continuesOf = ({ previous_response_id: response, conversation }: CreateResponse): Continues | null => {
  const hasResponse = response !== null && response !== undefined;
  if (conversation === null || conversation === undefined) {
    return hasResponse ? { kind: 'response', id: response } : null;
  }
  if (hasResponse) {
    throw gatewayError('invalid_value', {
      param: 'previous_response_id',
      code: 'mutually_exclusive_parameters',
      message:
        "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Send one of them: a response of a conversation continues that conversation.",
    });
  }
  return { kind: 'conversation', id: typeof conversation === 'string' ? conversation : conversation.id };
};

const chainPlace = ({ conversation }: CreateResponse): string =>
  conversation === null || conversation === undefined ? 'previous_response_id' : 'conversation';

/** The items of the conversation so far, then those of the body. */
const afterChain = (chain: readonly Item[], { items, places }: ReadItems, chainAt: string): PlacedItems =>
  chain.length === 0
    ? { items, places }
    : { items: [...chain, ...items], places: [...chain.map(() => chainAt), ...places] };

const checkInput = ({ items, places }: PlacedItems): void => {
  refuseStrayTrigger({ items, places });
  const problem = findPairingProblem(items);
  if (problem === null) return;
  const callId = quoted(problem.callId);
  const place = places[problem.index] ?? 'input';
  switch (problem.kind) {
    case 'call-without-output':
      throw unpaired(`No tool output found for function call ${callId}.`);
    case 'output-without-call':
      throw unpaired(`No tool call found for function call output with call_id ${callId}.`);
    case 'duplicate-call':
      throw duplicate(`Duplicate tool call with call_id ${callId} (${place}).`, place);
    case 'duplicate-output':
      throw duplicate(`Duplicate tool output with call_id ${callId} (${place}).`, place);
    default:
      assertNever(problem);
  }
};

/** OpenAI's error names the input as a whole, because the other half may be missing anywhere in the conversation. */
const unpaired = (message: string): GatewayError =>
  gatewayError('unpaired_tool_call', { param: 'input', message });

const duplicate = (message: string, param: string): GatewayError =>
  gatewayError('invalid_value', { param, message });

/** A compaction applies to the whole conversation. */
const refuseStrayTrigger = ({ items, places }: PlacedItems): void => {
  const index = itemFacts(items).hasRaw ? items.findIndex(isCompactionTrigger) : -1;
  if (index === -1 || (index > 0 && index === items.length - 1)) return;
  const param = places[index] ?? 'input';
  const why = index === items.length - 1 ? 'it is the only item' : 'it must be the final item';
  throw gatewayError('invalid_value', {
    param,
    message: `Invalid '${param}': a compaction_trigger asks for a compaction of the input, and ${why}.`,
  });
};

const wantsReasoning = ({ include, reasoning }: CreateResponse): readonly string[] =>
  namesWhere({
    'reasoning.summary': reasoning?.summary,
    'reasoning.generate_summary': reasoning?.generate_summary,
    'include.reasoning.encrypted_content': include?.includes('reasoning.encrypted_content'),
  });

/** Recognised fields that have no effect with any backend. */
const withoutEffect = ({ stream_options, moderation }: CreateResponse): readonly string[] =>
  namesWhere({
    'stream_options.include_obfuscation': stream_options?.include_obfuscation,
    moderation,
  });
