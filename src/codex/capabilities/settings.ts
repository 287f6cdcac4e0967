import { itemFacts } from '../../canonical/request/item-facts.ts';
import type { Setting } from '../../canonical/request/path.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { Json } from '../../kit/json/json.ts';
import type { EditField } from './profile.ts';

/** How a setting is handled. */
export type Handling =
  /** It has OpenAI's meaning. */
  | 'mapped'
  /** The backend does not receive it; this server implements it. */
  | 'emulated'
  /** The backend does not receive it, and the answer would be the same, so it is not reported. */
  | 'silent'
  /** It has no effect, which the response reports. */
  | 'ignored';

export type SettingRule = {
  /** Shown in the docs: what depends on the backend. */
  readonly note?: string;
} & (FixedRule | FieldRule);

/** Handled the same for every backend: the app-server has a field for it, or this server implements it. */
interface FixedRule {
  readonly always: Handling;
}

/**
 * The app-server has no field for it, or a less precise one: the relay sets the field of the model request.
 */
interface FieldRule {
  readonly field: EditField;
  /** Handling if that field cannot be set. */
  readonly otherwise: Handling;
  /** For a field that holds the value unchanged. */
  readonly value?: (request: TurnRequest) => Json;
  /** The backend's default: sent, but not reported if it cannot be sent. */
  readonly defaultValue?: Json;
  /** For a field that does not hold the value unchanged: whether the request uses the setting. */
  readonly isRequested?: (request: TurnRequest) => boolean;
  /** Whether its loss should be reported. Default: always. */
  readonly matters?: (request: TurnRequest) => boolean;
}

/** A field that holds the value unchanged. */
const plain = (
  field: EditField,
  value: (request: TurnRequest) => Json,
  otherwise: Handling = 'ignored',
): FieldRule => ({ field, otherwise, value });

/** How every setting of a turn request is handled. `field-support.ts` decides which fields can be set. */
export const SETTING_RULES: Readonly<Record<Setting, SettingRule>> = {
  model: { always: 'mapped' },
  instructions: {
    always: 'mapped',
    note: "In the backend's own field; without the relay, and on the lite lane of a ChatGPT login, the first message (see `PROXY_INSTRUCTIONS_TARGET`).",
  },
  items: {
    always: 'mapped',
    note: 'Images and files by URL go to a provider as they are; for a ChatGPT login, and without the relay, images are fetched here (see `PROXY_IMAGE_URLS`). Where the relay or the backend cannot say it, `system` travels as `developer`, an image of low detail without its detail, and a text file as text; another file then gets 400 `unsupported_file`, and an item of a type that codex does not know 400 `unsupported_value`.',
  },
  tools: {
    always: 'mapped',
    note: 'A backend that does not know custom tools gets them as functions with one text parameter. With a ChatGPT login further fields of tools other than `defer_loading` are named as ignored, and a hosted tool that it does not have gets 400 `unsupported_tool`. Without the relay the app-server thins the schema out, `strict` is lost, further fields and `tool_search` are named as ignored, and other hosted tools get 400 `unsupported_tool`.',
  },
  toolChoice: {
    field: 'tool_choice',
    otherwise: 'emulated',
    note: 'Emulated: the model sees only the tools that the choice leaves, and gets a message if it must call one. In any case the answer is checked: without the call that must come it is asked for once more, then the request fails with `tool_choice_not_satisfied`; only a hosted tool that it names is left to the backend. A request that makes a choice takes the full lane of a ChatGPT login.',
  },
  parallelToolCalls: {
    field: 'parallel_tool_calls',
    otherwise: 'emulated',
    note: '`false`: the answer ends after the first call in any case. `true` takes the full lane of a ChatGPT login, where several calls are possible; on the lite lane it is named as ignored.',
  },
  maxToolCalls: {
    field: 'max_tool_calls',
    otherwise: 'ignored',
    value: ({ maxToolCalls }) => maxToolCalls,
    matters: ({ tools }) => tools.some(({ kind }) => kind === 'hosted'),
    note: 'Without a tool in the request that the backend runs it is not named as ignored.',
  },
  'reasoning.effort': {
    always: 'mapped',
    note: 'With a ChatGPT login an effort that the model does not have becomes the nearest one, and is named as ignored.',
  },
  'reasoning.summary': { always: 'mapped' },
  'reasoning.context': {
    field: 'reasoning.context',
    otherwise: 'ignored',
    note: 'On the lite lane of a ChatGPT login `reasoning.context` is always `all_turns`; `current_turn` takes the full lane.',
  },
  'reasoning.mode': {
    field: 'reasoning.mode',
    otherwise: 'ignored',
    isRequested: ({ reasoning }) => reasoning.mode !== undefined,
  },
  format: {
    always: 'mapped',
    note: 'Without the relay json_object is checked only, and codex sends a schema under its own name, without its description, and as strict: each of these that the client wrote otherwise is named as ignored.',
  },
  verbosity: {
    always: 'mapped',
    note: "Without the relay `verbosity` is for the models of codex's own list; for others it is named as ignored.",
  },
  serviceTier: {
    always: 'mapped',
    note: 'With a ChatGPT login only `priority` goes to the backend (`fast` is the same), without the relay also `flex`.',
  },
  maxOutputTokens: {
    field: 'max_output_tokens',
    otherwise: 'emulated',
    note: 'Emulated: the visible text is counted with a tokenizer and cut; the turn is interrupted there, and `usage` is counted here (see token-counting.md).',
  },
  stop: {
    always: 'emulated',
    note: 'The turn is interrupted there, and `usage` is counted here (see token-counting.md).',
  },
  'sampling.temperature': {
    ...plain('temperature', ({ sampling }) => sampling.temperature),
    defaultValue: 1,
  },
  'sampling.topP': { ...plain('top_p', ({ sampling }) => sampling.topP), defaultValue: 1 },
  'sampling.presencePenalty': plain('presence_penalty', ({ sampling }) => sampling.presencePenalty),
  'sampling.frequencyPenalty': plain('frequency_penalty', ({ sampling }) => sampling.frequencyPenalty),
  'sampling.seed': {
    field: 'seed',
    otherwise: 'ignored',
    value: ({ sampling }) => sampling.seed,
    note: 'A backend that does not know it is asked again without it.',
  },
  include: { field: 'include', otherwise: 'ignored' },
  'logprobs.top': plain('top_logprobs', ({ logprobs }) => logprobs.top),
  truncation: plain('truncation', ({ truncation }) => truncation),
  contextManagement: plain('context_management', ({ contextManagement }) => contextManagement),
  // Not a plain value: the relay sets a key for every conversation.
  'cache.key': {
    field: 'prompt_cache_key',
    otherwise: 'silent',
    note: 'A key over 64 characters goes as its SHA-256. With a ChatGPT login only a UUIDv7 goes; in the place of any other key the conversation has one of its own.',
  },
  'cache.retention': plain('prompt_cache_retention', ({ cache }) => cache.retention, 'silent'),
  'cache.options': plain('prompt_cache_options', ({ cache }) => cache.options),
  'cache.breakpoints': {
    field: 'prompt_cache_breakpoint',
    otherwise: 'ignored',
    isRequested: ({ items }) => itemFacts(items).hasCacheBreakpoint,
    note: '`prompt_cache_breakpoint` of a part goes to a provider as it is; a ChatGPT login refuses it, so there it is left out and named as ignored.',
  },
  callFields: {
    field: 'call_fields',
    otherwise: 'ignored',
    isRequested: ({ items }) => itemFacts(items).hasCallFields,
    note: '`caller` and `async` of calls, and `caller`, `name` and `namespace` of their outputs, go to a provider as they are; elsewhere they are left out, and named as `caller`.',
  },
  accessPrograms: plain('access_programs', ({ accessPrograms }) => accessPrograms ?? null),
  imageOptions: plain('image', ({ imageOptions }) => imageOptions ?? null),
  metadata: plain('metadata', ({ metadata }) => metadata, 'silent'),
  clientMetadata: {
    field: 'client_metadata',
    otherwise: 'silent',
    value: ({ clientMetadata }) => clientMetadata,
    note: 'With a ChatGPT login it is written over the notes that codex makes itself.',
  },
  user: plain('user', ({ user }) => user, 'silent'),
  safetyIdentifier: plain('safety_identifier', ({ safetyIdentifier }) => safetyIdentifier, 'silent'),
};
