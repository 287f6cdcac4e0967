import type { Trace } from '../canonical/context/trace.ts';
import type { ModelNames } from '../canonical/models/model-names.ts';
import type { Ambient } from '../kit/ambient.ts';
import { gatewayError, GatewayError } from '../canonical/failure/failure.ts';
import type { Path } from '../canonical/request/path.ts';
import { NO_EFFECT_IN_STRICT, type Rejection } from '../canonical/failure/rejection.ts';
import type { Again, Api, ParsedRequest } from './api.ts';
import type { LocalResponses, TurnState, TurnStates } from './turn-state.ts';

/** The body fields without effect: those that the API ignores, and those that the backend cannot honour. */
export const namesWithoutEffect = (ask: ParsedRequest, ignored: readonly Path[]): readonly string[] => [
  ...ask.ignored,
  ...ignored.map((path) => ask.nameOf(path)),
];

/** Why a request is rejected, with the client's field names; null if it is not. */
export const refusalOf = (
  ask: ParsedRequest,
  refused: readonly Rejection[],
  isStrict: boolean,
): GatewayError | null => {
  const [unread] = isStrict ? ask.ignored : [];
  if (unread !== undefined) return refusal(unread, 'unsupported_parameter', NO_EFFECT_IN_STRICT);
  const [first] = refused;
  if (first?.kind === 'unsupported_tool' && ask.withoutTool !== undefined)
    return new GatewayError(ask.withoutTool(first.why));
  return first === undefined ? null : refusal(ask.nameOf(first.path), first.kind, first.why);
};

/** The error with the client's name of the part that it is about. */
export const withName = (ask: ParsedRequest, error: unknown): unknown => {
  if (!(error instanceof GatewayError) || error.failure.path === undefined) return error;
  const { path, ...failed } = error.failure;
  return new GatewayError({ ...failed, param: ask.nameOf(path) }, { cause: error });
};

const refusal = (param: string, kind: Rejection['kind'], why: string): GatewayError =>
  gatewayError(kind, { param, message: MESSAGES[kind](param, why) });

const MESSAGES: Readonly<Record<Rejection['kind'], (param: string, why: string) => string>> = {
  invalid_value: (param, why) => `Invalid '${param}': ${why}`,
  unsupported_parameter: (param, why) => `Unsupported parameter: '${param}' ${why}.`,
  unsupported_value: (param, why) => `Unsupported value: '${param}' ${why}.`,
  unsupported_file: (param, why) => `Unsupported file: '${param}' ${why}.`,
  unsupported_tool: (param, why) => `Unsupported tool: '${param}' ${why}.`,
};

/** Where a body came from. */
export interface BodySource {
  readonly headers: Headers;
  /** The id of the client's key. */
  readonly caller: string;
  readonly models: ModelNames;
  readonly signal: AbortSignal;
  readonly trace: Trace;
  /** See `StateAsk`. */
  readonly onBytes: (bytes: number) => void;
  readonly local: LocalResponses | null;
  readonly isOnlyRead?: boolean;
  /** See `ParseContext`. */
  readonly generates?: boolean;
  readonly again?: Again;
}

export interface TranslateDeps {
  readonly ambient: Ambient;
  readonly states: TurnStates;
}

export interface TranslatedBody {
  readonly parsed: ParsedRequest;
  /** The run releases it. */
  readonly state: TurnState;
}

/** Reads a body: checks it, loads what it refers to, and translates both. Throws if it is invalid. */
export const translateBody = async (
  api: Api,
  body: unknown,
  source: BodySource,
  deps: TranslateDeps,
): Promise<TranslatedBody> => {
  const {
    caller,
    headers,
    models,
    signal,
    onBytes,
    local,
    trace,
    again,
    isOnlyRead = false,
    generates = true,
  } = source;
  const { ambient } = deps;
  const context = { headers, ambient, models, generates, ...(again === undefined ? {} : { again }) };
  const parsed = api.parse(body, context);
  const state = await deps.states.open({ caller, references: parsed, signal, onBytes, local, isOnlyRead });
  try {
    if (trace.isRecording) {
      for (const [id, item] of state.loaded.items) trace.record('referred', { id, item });
      if (state.loaded.chain.length > 0) trace.record('continued', { items: state.loaded.chain });
    }
    return { parsed: api.toTurn(parsed, state.loaded, context), state };
  } catch (error) {
    state.release();
    throw error;
  }
};
