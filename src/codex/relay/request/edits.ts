import { itemFacts } from '../../../canonical/request/item-facts.ts';
import { released, toolsLeft, allTools } from '../../../canonical/request/tool.ts';
import type { OutputFormat, TurnRequest } from '../../../canonical/request/turn-request.ts';
import { assertNever } from '../../../kit/assert-never.ts';
import { isJsonObject, listIn, present, type Json, type JsonObject } from '../../../kit/json/json.ts';
import { type BackendProfile, type EditField, backendTier } from '../../capabilities/profile.ts';
import { isRequested, plainValues } from '../../capabilities/requested-fields.ts';
import { supportsField } from '../../capabilities/field-support.ts';
import type { RequestStrategy } from '../../translate/request-strategy.ts';
import { developerMessage, type InjectedParts } from '../../translate/inject-items.ts';
import type { AffinityKey } from './affinity.ts';
import type { CarriedInput } from './carried-input.ts';
import { exactInput } from './exact-input.ts';
import { inBackendNames, type Session } from './headers.ts';
import type { McpShape } from './mcp-namespaces.ts';
import type { TurnAnswers } from './turn-answers.ts';
import { toolChoiceField, writeTools } from './client-tools.ts';

/** What the model request is made of, besides the settings of the client's request. */
export interface RequestShape {
  readonly strategy: RequestStrategy;
  /** The conversation, in the place of the placeholder. */
  readonly injected: InjectedParts;
  /** A message before all items; null: none. */
  readonly developerInstructions: string | null;
  /** Null: no MCP servers. */
  readonly mcp: McpShape | null;
}

export interface RequestEdits {
  /** The fields that will be set; tells our refused fields from the client's. */
  readonly fields: ReadonlySet<EditField>;
  apply(body: JsonObject, context: EditContext): JsonObject;
}

export interface EditContext {
  /** Fields that the backend has refused meanwhile. */
  readonly without: ReadonlySet<EditField>;
  /** Whether the model has not answered in this turn yet. */
  readonly isFirstRequest: boolean;
  /** Null for a review, whose input is the app-server's own. */
  readonly carried: CarriedInput | null;
  readonly answers: TurnAnswers;
}

/** What a backend accepts, and what it has refused for this model. */
export interface BackendLimits {
  readonly profile: BackendProfile;
  readonly refuses: ReadonlySet<EditField>;
}

/** Computes what the relay sets on the model request, from a canonical request and what its backend accepts. */
export const requestEdits = (
  request: TurnRequest,
  shape: RequestShape,
  session: Session & AffinityKey,
  { profile, refuses }: BackendLimits,
): RequestEdits => {
  const { strategy } = shape;
  const plain = plainFields(request, profile);
  const takes = (field: EditField): boolean =>
    supportsField(field, { profile, requestFormat: strategy.requestFormat });
  const asked = [...plain.keys(), ...structuralFields(request, shape)].filter(takes);
  const fields = new Set(asked.filter((field) => !refuses.has(field)));
  const exactWith = (without: ReadonlySet<EditField>): readonly JsonObject[] =>
    exactInput(shape.injected, {
      systemRole: takes('system_role'),
      imageDetail: takes('image_detail'),
      files: !without.has('input_file'),
      cacheBreakpoints: takes('prompt_cache_breakpoint') && !without.has('prompt_cache_breakpoint'),
      callFields: takes('call_fields') && !without.has('call_fields'),
    });
  const exact = exactWith(refuses);
  const { developerInstructions } = shape;
  return {
    fields,
    apply(body, { without, isFirstRequest, carried, answers }) {
      const sets = (field: EditField): boolean => fields.has(field) && !without.has(field);
      const edited: Record<string, Json | undefined> = { ...body, model: request.model };
      for (const [field, value] of plain) if (sets(field)) edited[field] = value;
      // codex always sends these: remove them if the backend refuses them.
      for (const field of CODEX_SENDS) if (asked.includes(field) && !sets(field)) delete edited[field];
      if (
        typeof edited['service_tier'] === 'string' &&
        backendTier(edited['service_tier'], profile) === null
      ) {
        delete edited['service_tier'];
      }
      if (sets('prompt_cache_key')) edited['prompt_cache_key'] = session.cacheKey;
      const include = new Set([
        ...listIn(body, 'include').filter((value) => value !== ENCRYPTED || sets(ENCRYPTED)),
        ...(sets('include') ? request.include : []),
      ]);
      if (include.size > 0) edited['include'] = [...include];
      else delete edited['include'];
      if (sets('tool_choice')) {
        // After the first answer of a turn the forced call has been made: forcing it again would never end.
        const choice = isFirstRequest ? request.toolChoice : released(request.toolChoice);
        edited['tool_choice'] = toolChoiceField(choice, profile);
      }
      if (sets('parallel_tool_calls')) edited['parallel_tool_calls'] = false;
      if (sets('text.format') || sets('text.verbosity')) edited['text'] = editText(body, request, sets);
      if (sets('tools')) {
        // The model sees all tools if the backend receives the tool choice.
        const isTold = request.toolChoice.mode === 'auto' || sets('tool_choice');
        const tools = isTold ? request.tools : toolsLeft(request.tools, request.toolChoice);
        const { requestFormat } = strategy;
        const context = { requestFormat, profile, session: session.session, mcp: shape.mcp };
        Object.assign(edited, writeTools(body, tools, context));
      }
      if (isJsonObject(body['client_metadata'])) {
        const own = sets('client_metadata') ? request.clientMetadata : null;
        edited['client_metadata'] = { ...withSession(body['client_metadata'], session), ...own };
      }
      if (strategy.requestFormat === 'responses') setInstructions(edited, request, shape, profile);
      if (profile.isChatgpt) {
        const hasContext = sets('reasoning.context') && strategy.requestFormat === 'responses';
        const reasoning = editReasoning(body, request, hasContext);
        if (Object.keys(reasoning).length > 0) edited['reasoning'] = reasoning;
      } else {
        setClientFields(edited, request, {
          sets,
          isWithheld: (field) => asked.includes(field) && !sets(field),
        });
      }
      if (carried !== null) {
        const isNews = INPUT_FIELDS.some((field) => without.has(field));
        edited['input'] = [
          ...(sets('tools') ? listIn(edited, 'input').slice(0, 1).filter(holdsTools) : carried.tools),
          ...(developerInstructions === null ? [] : [developerMessage(developerInstructions)]),
          ...(isNews ? exactWith(new Set([...refuses, ...without])) : exact),
          ...answers.restoreInto(carried.after).map(plainOutput),
        ];
      }
      return edited;
    },
  };
};

const holdsTools = (entry: Json): boolean => isJsonObject(entry) && entry['type'] === 'additional_tools';

/** Keeps what codex sends for the model by default. */
const editReasoning = (body: JsonObject, { reasoning }: TurnRequest, hasContext: boolean): JsonObject => {
  const { effort, summary, context } = reasoning;
  return {
    ...(isJsonObject(body['reasoning']) ? body['reasoning'] : {}),
    ...present({ effort, summary, context: hasContext ? context : null }),
  };
};

/** Input features that a backend may refuse. */
const INPUT_FIELDS = ['input_file', 'prompt_cache_breakpoint', 'call_fields'] as const;

/** For a backend that requires instructions although the client's are elsewhere. */
export const NEUTRAL_INSTRUCTIONS = 'Follow the messages below.';

/** Sets the field to the client's instructions, or to neutral ones if the backend requires it. */
const setInstructions = (
  edited: Record<string, Json | undefined>,
  request: TurnRequest,
  { strategy, developerInstructions }: RequestShape,
  profile: BackendProfile,
): void => {
  const own = developerInstructions === null ? request.instructions : null;
  if (strategy.instructions === 'field') {
    const text = own ?? (profile.requiresInstructions ? '' : null);
    if (text !== null) edited['instructions'] = text;
  } else if (profile.requiresInstructions) {
    edited['instructions'] = NEUTRAL_INSTRUCTIONS;
  }
};

const CODEX_SENDS = ['service_tier', 'prompt_cache_key'] as const;

/** codex also puts the thread id and the model name here. */
const withSession = (metadata: JsonObject, session: Session): JsonObject =>
  Object.fromEntries(
    Object.entries(metadata).map(([name, value]) => [
      name,
      typeof value === 'string' ? inBackendNames(value, session) : value,
    ]),
  );

/** Minimum that Responses backends accept. */
const MIN_OUTPUT_TOKENS = 16;

/** Parameters that are a plain field of the request. */
const plainFields = (request: TurnRequest, profile: BackendProfile): ReadonlyMap<EditField, Json> => {
  const plain = new Map<EditField, Json>(plainValues(request));
  // A smaller limit, which Chat allows, is enforced here.
  if ((request.maxOutputTokens ?? 0) >= MIN_OUTPUT_TOKENS) {
    plain.set('max_output_tokens', request.maxOutputTokens);
  }
  const tier = backendTier(request.serviceTier, profile);
  if (tier !== null) plain.set('service_tier', tier);
  return plain;
};

/** The value that codex requests in `include`. Backends of models without reasoning refuse it. */
const ENCRYPTED = 'reasoning.encrypted_content';

const structuralFields = (request: TurnRequest, shape: RequestShape): EditField[] => {
  const asked: readonly (readonly [EditField, boolean])[] = [
    ['prompt_cache_key', true],
    [ENCRYPTED, true],
    ['include', request.include.length > 0],
    ['tool_choice', request.toolChoice.mode !== 'auto'],
    // With a ChatGPT login, true is not set: codex knows which models make only one call at a time.
    ['parallel_tool_calls', request.parallelToolCalls === false],
    ['tools', request.tools.length > 0 || shape.mcp !== null],
    ['input_file', itemFacts(request.items).hasFile],
    ['prompt_cache_breakpoint', isRequested('cache.breakpoints', request)],
    ['call_fields', isRequested('callFields', request)],
    ['reasoning.context', request.reasoning.context !== null],
    ['reasoning.mode', isRequested('reasoning.mode', request)],
    ['text.format', request.format.kind !== 'text'],
    ['text.verbosity', request.verbosity !== null],
  ];
  return asked.filter(([, isWanted]) => isWanted).map(([field]) => field);
};

const editText = (
  body: JsonObject,
  request: TurnRequest,
  sets: (field: EditField) => boolean,
): JsonObject => ({
  ...(isJsonObject(body['text']) ? body['text'] : {}),
  ...(sets('text.verbosity') ? { verbosity: request.verbosity } : {}),
  ...(sets('text.format') ? { format: formatField(request.format) } : {}),
});

const formatField = (format: OutputFormat): JsonObject => {
  switch (format.kind) {
    case 'text':
      return { type: 'text' };
    case 'json-object':
      return { type: 'json_object' };
    case 'json-schema': {
      const { name, description, schema, strict } = format;
      return present({ type: 'json_schema', name, description, schema, strict });
    }
    default:
      return assertNever(format);
  }
};

/** Which fields of the model request carry the client's values. */
interface FieldSelection {
  readonly sets: (field: EditField) => boolean;
  /** Whether the client set it but the backend does not accept it. */
  readonly isWithheld: (field: EditField) => boolean;
}

/** Sends exactly what the client sent to a Responses backend: codex fills in some fields and adapts others. */
export const setClientFields = (
  edited: Record<string, Json | undefined>,
  request: TurnRequest,
  { sets, isWithheld }: FieldSelection,
): void => {
  const { effort, summary, context, mode } = request.reasoning;
  // codex silently replaces an effort that it does not know.
  const reasoning = present({
    effort,
    summary,
    context: sets('reasoning.context') ? context : null,
    mode: sets('reasoning.mode') ? mode : null,
  });
  setOrDelete(edited, 'reasoning', reasoning);
  const { parallelToolCalls, clientMetadata } = request;
  // Replaces the app-server's turn metadata, which would make every request different.
  setOrDelete(edited, 'client_metadata', sets('client_metadata') ? (clientMetadata ?? {}) : {});
  if (parallelToolCalls === null || isWithheld('parallel_tool_calls')) delete edited['parallel_tool_calls'];
  else edited['parallel_tool_calls'] = parallelToolCalls;
  if (Array.isArray(edited['tools']) && edited['tools'].length === 0) {
    // Some backends reject an empty list, and a choice without tools.
    delete edited['tools'];
    if (request.toolChoice.mode === 'auto' && allTools(request).length === 0) delete edited['tool_choice'];
  }
};

const setOrDelete = (edited: Record<string, Json | undefined>, field: string, value: JsonObject): void => {
  if (Object.keys(value).length > 0) edited[field] = value;
  else delete edited[field];
};

/** codex prepends the duration to a tool's output. */
const TIMED = /^Wall time: [\d.]+ seconds\nOutput:$/;
/** The same before a single text: a result with structured content, which is all that codex shows the model. */
const TIMED_TEXT = /^Wall time: [\d.]+ seconds\nOutput:\n/;

/** Restores the output that the tool returned. */
export const plainOutput = (item: Json): Json => {
  if (!isJsonObject(item)) return item;
  if (typeof item['output'] === 'string') return { ...item, output: item['output'].replace(TIMED_TEXT, '') };
  if (!Array.isArray(item['output'])) return item;
  const [first, ...rest] = item['output'] as readonly Json[];
  const isTimed = isJsonObject(first) && typeof first['text'] === 'string' && TIMED.test(first['text']);
  if (!isTimed) return item;
  const texts = rest.map((part) =>
    isJsonObject(part) && part['type'] === 'input_text' ? part['text'] : null,
  );
  // In the same form as in a client's history later, so that the model sees the same.
  return { ...item, output: texts.every((text) => typeof text === 'string') ? texts.join('\n') : rest };
};
