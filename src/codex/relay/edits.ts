import type { Item } from '../../canonical/item.ts';
import type { FunctionTool, OutputFormat, ToolChoice, TurnRequest } from '../../canonical/turn-request.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { isJsonObject, type Json, type JsonObject } from '../../kit/json.ts';
import type { AffinityKey } from './affinity.ts';
import type { Session } from './headers.ts';
import { editInput, inputEdits } from './input-edits.ts';
import type { BackendProfile, EditField } from './profile.ts';

/** Where the conversation that we gave the app-server stands in its model requests. */
export interface ThreadShape {
  /** The client's items that were injected, in order. */
  readonly items: readonly Item[];
  /** How many injected items come before them: the instructions, if any. */
  readonly instructions: number;
  /** How many messages the app-server itself puts in front of all that. */
  readonly inFront: number;
}

export interface WireEdits {
  /** What will be set, so that a refusal can be told from one that is not our doing. */
  readonly fields: ReadonlySet<EditField>;
  /** What was asked for and will not be set, because the backend was found to refuse it. */
  readonly refused: ReadonlySet<EditField>;
  /** `without`: what it has refused since. */
  apply(body: JsonObject, without: ReadonlySet<EditField>): JsonObject;
}

/** What a backend takes, and what of that it was found to refuse for this model. */
export interface Taste {
  readonly takes: BackendProfile;
  readonly refuses: ReadonlySet<EditField>;
}

/** A canonical request and what its backend takes → what the relay sets on the model request. */
export const wireEdits = (
  request: TurnRequest,
  shape: ThreadShape,
  session: Session & AffinityKey,
  { takes, refuses }: Taste,
): WireEdits => {
  const plain = plainFields(request);
  const asked = [...plain.keys(), ...structuralFields(request)].filter((field) => takes.has(field));
  const fields = new Set(asked.filter((field) => !refuses.has(field)));
  const itemEdits = inputEdits(shape.items, takes.has('system_role'));
  const start = shape.inFront + shape.instructions;
  return {
    fields,
    refused: new Set(asked.filter((field) => refuses.has(field))),
    apply(body, without) {
      const sets = (field: EditField): boolean => fields.has(field) && !without.has(field);
      const edited: Record<string, Json | undefined> = { ...body };
      for (const [field, value] of plain) if (sets(field)) edited[field] = value;
      // codex sends these by itself: what the backend refuses must go.
      for (const field of CODEX_SENDS) if (asked.includes(field) && !sets(field)) delete edited[field];
      if (sets('prompt_cache_key')) edited['prompt_cache_key'] = session.cacheKey;
      if (sets('include')) edited['include'] = [...new Set([...includeOf(body), ...includes(request)])];
      if (sets('tool_choice')) edited['tool_choice'] = wireToolChoice(request.toolChoice);
      if (sets('parallel_tool_calls')) edited['parallel_tool_calls'] = false;
      if (sets('text.format') || sets('text.verbosity')) edited['text'] = editText(body, request, sets);
      if (sets('tools')) Object.assign(edited, editTools(body, request.tools));
      if (isJsonObject(body['client_metadata'])) {
        edited['client_metadata'] = inSession(body['client_metadata'], session);
      }
      if (Array.isArray(edited['input'])) {
        edited['input'] = editInput(edited['input'] as readonly Json[], shape.items, itemEdits, start);
      }
      return edited;
    },
  };
};

const CODEX_SENDS = ['service_tier', 'prompt_cache_key'] as const;

/** codex tells its backend the thread's id here too. */
const inSession = (metadata: JsonObject, { threadId, session }: Session): JsonObject =>
  Object.fromEntries(
    Object.entries(metadata).map(([name, value]) => [
      name,
      typeof value === 'string' ? value.replaceAll(threadId, session) : value,
    ]),
  );

/** What a Responses backend takes at the least. */
const LEAST_OUTPUT_TOKENS = 16;

/** Parameters that are a member of the request and nothing else. */
const plainFields = (request: TurnRequest): ReadonlyMap<EditField, Json> => {
  const structural = new Set([
    'include',
    'tool_choice',
    'text.verbosity',
    'text.format',
    'input',
    'prompt_cache_key',
  ]);
  const plain = new Map<EditField, Json>();
  for (const { field, value } of request.wire) if (!structural.has(field)) plain.set(field, value);
  // A smaller limit, which Chat allows, is kept by us.
  if ((request.maxOutputTokens ?? 0) >= LEAST_OUTPUT_TOKENS) {
    plain.set('max_output_tokens', request.maxOutputTokens);
  }
  if (request.serviceTier !== null) plain.set('service_tier', request.serviceTier);
  return plain;
};

const structuralFields = (request: TurnRequest): EditField[] => {
  const asked: readonly (readonly [EditField, boolean])[] = [
    ['prompt_cache_key', true],
    ['include', includes(request).length > 0],
    ['tool_choice', request.toolChoice.mode !== 'auto'],
    // True is left alone: codex knows models that take one call at a time only.
    ['parallel_tool_calls', !request.parallelToolCalls],
    ['tools', request.tools.length > 0],
    ['text.format', request.format.kind !== 'text'],
    ['text.verbosity', verbosityOf(request) !== null],
  ];
  return asked.filter(([, isAsked]) => isAsked).map(([field]) => field);
};

const includes = (request: TurnRequest): readonly Json[] =>
  request.wire.filter((param) => param.field === 'include').map((param) => param.value);

const includeOf = (body: JsonObject): readonly Json[] =>
  Array.isArray(body['include']) ? (body['include'] as readonly Json[]) : [];

/** Only for models that codex does not list; for the others it sends the verbosity itself. */
const verbosityOf = (request: TurnRequest): Json | null =>
  request.wire.find((param) => param.field === 'text.verbosity')?.value ?? null;

const wireToolChoice = (choice: ToolChoice): Json => {
  switch (choice.mode) {
    case 'auto':
    case 'none':
    case 'required':
      return choice.mode;
    case 'function':
      return { type: 'function', name: choice.name };
    case 'allowed':
      return {
        type: 'allowed_tools',
        mode: choice.required ? 'required' : 'auto',
        tools: choice.names.map((name) => ({ type: 'function', name })),
      };
    default:
      return assertNever(choice);
  }
};

const editText = (
  body: JsonObject,
  request: TurnRequest,
  sets: (field: EditField) => boolean,
): JsonObject => ({
  ...(isJsonObject(body['text']) ? body['text'] : {}),
  ...(sets('text.verbosity') ? { verbosity: verbosityOf(request) } : {}),
  ...(sets('text.format') ? { format: wireFormat(request.format) } : {}),
});

const wireFormat = (format: OutputFormat): JsonObject => {
  switch (format.kind) {
    case 'text':
      return { type: 'text' };
    case 'json-object':
      return { type: 'json_object' };
    case 'json-schema':
      return {
        type: 'json_schema',
        name: format.name,
        ...(format.description === null ? {} : { description: format.description }),
        schema: format.schema,
        ...(format.strict === null ? {} : { strict: format.strict }),
      };
    default:
      return assertNever(format);
  }
};

/** Tools stand in `tools`, or inside the first item for models of codex's newest kind. */
const editTools = (body: JsonObject, tools: readonly FunctionTool[]): JsonObject => {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const [first, ...rest] = Array.isArray(body['input']) ? (body['input'] as readonly Json[]) : [];
  const input =
    isJsonObject(first) && first['type'] === 'additional_tools'
      ? { input: [{ ...first, tools: exactTools(first['tools'], byName) }, ...rest] }
      : {};
  return {
    ...(Array.isArray(body['tools']) ? { tools: exactTools(body['tools'] as Json, byName) } : {}),
    ...input,
  };
};

const exactTools = (wire: Json | undefined, byName: ReadonlyMap<string, FunctionTool>): Json =>
  Array.isArray(wire) ? (wire as readonly Json[]).map((tool) => exactTool(tool, byName)) : (wire ?? []);

/** The client's own schema and strictness; the app-server thins out the one and drops the other. */
const exactTool = (tool: Json, byName: ReadonlyMap<string, FunctionTool>): Json => {
  if (!isJsonObject(tool)) return tool;
  if (tool['type'] === 'namespace') return { ...tool, tools: exactTools(tool['tools'], byName) };
  const own = typeof tool['name'] === 'string' ? byName.get(tool['name']) : undefined;
  if (own === undefined) return tool;
  const { description: _, ...others } = tool;
  return {
    ...others,
    ...(own.description === null ? {} : { description: own.description }),
    ...(own.strict === null ? {} : { strict: own.strict }),
    ...(own.parameters === null ? {} : { parameters: own.parameters }),
  };
};
