import { isCompactionTrigger } from '../../../canonical/request/compaction.ts';
import { gatewayError } from '../../../canonical/failure/failure.ts';
import type { ModelNames } from '../../../canonical/models/model-names.ts';
import { findPairingProblem } from '../../../canonical/request/pairing.ts';
import { allTools } from '../../../canonical/request/tool.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import { isJsonObject, type JsonObject } from '../../../kit/json/json.ts';
import { withoutClientPrompt, type ClientPrompt } from '../../shared/client-prompt.ts';
import type { ParameterNames } from '../../shared/parameter-names.ts';
import { checkTools, PLAIN_FORM, readToolList, type ToolForm } from '../../shared/read-tools.ts';
import { readCache, readSampling, unlessZero } from '../../shared/read-settings.ts';
import { unreadFields } from '../../shared/unread-fields.ts';
import { emptyArray, parseBody } from '../../shared/validation.ts';
import { isChatField, refuseChatFields } from './chat-fields.ts';
import { readFormat } from './format.ts';
import { readInput, referencesIn, type ReadItems } from './input-items.ts';
import type { Recall } from './item-references.ts';
import { responsesNames } from './names.ts';
import { RESPONSES_PARAMETERS } from './parameters.ts';
import { createResponseSchema, type CreateResponse } from './schema.ts';
import { readToolChoice } from './tools.ts';
import { append } from '../../../kit/collections/append.ts';
import { quoted } from '../../../kit/text/quote.ts';

export interface ResponsesAsk {
  readonly given: CreateResponse;
  readonly request: TurnRequest;
  readonly names: ParameterNames;
  /** Fields that will have no effect, by their place in the body. */
  readonly ignored: readonly string[];
  /** The fields by which the client asked to see reasoning. */
  readonly wantsReasoning: readonly string[];
  /** The place of the output schema in the body. */
  readonly formatPlace: string;
}

export interface ToTurnOptions {
  readonly models: ModelNames;
  readonly ignoreClientPrompt: boolean;
  /** How tools are written where this is not the API that was called. */
  readonly toolForm?: ToolForm;
  /** Finds items of earlier answers that the client only refers to; absent: none are kept. */
  readonly recall?: Recall;
}

/** A body whose fields have the right types. */
export interface ParsedResponse {
  readonly given: CreateResponse;
  /** Fields that the schema does not have. */
  readonly unread: readonly string[];
  /** The ids of earlier items that the input refers to. */
  readonly references: readonly string[];
}

/** Throws if a field has the wrong type. */
export const parseResponse = (body: unknown): ParsedResponse => {
  if (!isJsonObject(body)) {
    throw gatewayError('invalid_type', { message: 'Invalid body: expected a JSON object.' });
  }
  refuseChatFields(body);
  const given = parseBody(createResponseSchema, body);
  return {
    given,
    unread: unreadFields(createResponseSchema, body, '').filter((name) => !isChatField(name)),
    references: referencesIn(given.input),
  };
};

export const toTurnRequest = ({ given, unread }: ParsedResponse, options: ToTurnOptions): ResponsesAsk => {
  const ignored = [...unread];
  refuseStateful(given);
  const input = readInput(given.input, options.recall);
  append(ignored, input.unread);
  checkInput(input);
  const { readers, placeOf } = options.toolForm ?? PLAIN_FORM;
  const tools = readToolList(given.tools ?? [], readers);
  checkTools(tools, placeOf);
  const toolChoice = readToolChoice(given.tool_choice, allTools({ tools, items: input.items }));
  const model = options.models.resolve(given.model);
  append(ignored, withoutEffect(given));
  let prompt: ClientPrompt = {
    instructions: given.instructions ?? null,
    items: input.items,
    places: input.places,
  };
  if (options.ignoreClientPrompt) {
    const rest = withoutClientPrompt(prompt);
    append(ignored, rest.ignored);
    prompt = rest;
  }
  const { format, spelled, ...formatAt } = readFormat(given);
  return {
    given: spelled === null ? given : { ...given, text: { ...given.text, format: spelled } },
    ignored,
    wantsReasoning: wantsReasoning(given),
    names: responsesNames({ places: prompt.places, placeOf, format: formatAt }),
    formatPlace: `${formatAt.place}.schema`,
    request: {
      model: model.model,
      instructions: prompt.instructions,
      items: prompt.items,
      tools,
      toolChoice,
      parallelToolCalls: given.parallel_tool_calls ?? null,
      maxToolCalls: given.max_tool_calls ?? null,
      canApprove: true,
      reasoning: {
        effort: given.reasoning?.effort ?? model.effort,
        summary: given.reasoning?.summary ?? given.reasoning?.generate_summary ?? null,
        context: given.reasoning?.context ?? null,
        ...(given.reasoning?.mode ? { mode: given.reasoning.mode } : {}),
      },
      format,
      verbosity: given.text?.verbosity ?? null,
      serviceTier: given.service_tier ?? model.serviceTier,
      maxOutputTokens: given.max_output_tokens ?? null,
      stop: [],
      sampling: readSampling(given),
      logprobs: { top: unlessZero(given.top_logprobs), isNeeded: false },
      truncation: given.truncation === 'auto' ? 'auto' : null,
      // Reasoning is asked for in any case; the response says whether it is shown.
      include: (given.include ?? []).filter((value) => value !== 'reasoning.encrypted_content'),
      contextManagement: unlessEmpty(given.context_management),
      cache: readCache(given),
      ...(given.access_programs ? { accessPrograms: given.access_programs } : {}),
      ...(given.image ? { imageOptions: given.image } : {}),
      metadata: given.metadata ?? null,
      clientMetadata: given.client_metadata ?? null,
      user: given.user ?? null,
      safetyIdentifier: given.safety_identifier ?? null,
    },
  };
};

const unlessEmpty = (list: readonly JsonObject[] | null | undefined): readonly JsonObject[] | null =>
  list === null || list === undefined || list.length === 0 ? null : list;

const refuseStateful = (given: CreateResponse): void => {
  const asked = {
    background: given.background === true,
    previous_response_id: typeof given.previous_response_id === 'string',
    conversation: given.conversation !== undefined && given.conversation !== null,
    prompt: given.prompt !== undefined && given.prompt !== null,
  };
  for (const [name, isAsked] of Object.entries(asked)) {
    if (isAsked) {
      throw gatewayError('unsupported_parameter', {
        param: name,
        message: `Unsupported parameter: '${name}'. ${RESPONSES_PARAMETERS[name as keyof typeof asked].note}`,
      });
    }
  }
};

const checkInput = ({ items, places }: ReadItems): void => {
  if (items.length === 0) throw emptyArray('input');
  refuseStrayTrigger({ items, places });
  const problem = findPairingProblem(items);
  if (problem === null) return;
  const { index, callId } = problem;
  const at = places[index] ?? 'input';
  const messages = {
    'call-without-output': `No tool output found for function call ${quoted(callId)} (${at}).`,
    'output-without-call': `No tool call found for function call output with call_id ${quoted(callId)} (${at}).`,
    'duplicate-call': `Duplicate tool call with call_id ${quoted(callId)} (${at}).`,
    'duplicate-output': `Duplicate tool output with call_id ${quoted(callId)} (${at}).`,
  } as const;
  throw gatewayError('invalid_value', { param: at, message: messages[problem.kind] });
};

/** A conversation is compacted as a whole. */
const refuseStrayTrigger = ({ items, places }: Pick<ReadItems, 'items' | 'places'>): void => {
  const index = items.findIndex(isCompactionTrigger);
  if (index === -1 || (index > 0 && index === items.length - 1)) return;
  const param = places[index] ?? 'input';
  const why = index === items.length - 1 ? 'it is the only item' : 'it must be the final item';
  throw gatewayError('invalid_value', {
    param,
    message: `Invalid '${param}': a compaction_trigger asks for a compaction of the input, and ${why}.`,
  });
};

const wantsReasoning = ({ include, reasoning }: CreateResponse): readonly string[] => {
  const candidates: readonly (readonly [string, boolean])[] = [
    ['reasoning.summary', (reasoning?.summary ?? null) !== null],
    ['reasoning.generate_summary', (reasoning?.generate_summary ?? null) !== null],
    ['include.reasoning.encrypted_content', include?.includes('reasoning.encrypted_content') === true],
  ];
  return candidates.filter(([, wanted]) => wanted).map(([name]) => name);
};

/** Fields that were understood and change nothing, whatever the backend. */
const withoutEffect = (given: CreateResponse): string[] => {
  const candidates: readonly (readonly [string, boolean])[] = [
    ['stream_options.include_obfuscation', given.stream_options?.include_obfuscation === true],
    ['store', given.store === true],
    ['moderation', (given.moderation ?? null) !== null],
  ];
  return candidates.filter(([, without]) => without).map(([name]) => name);
};
