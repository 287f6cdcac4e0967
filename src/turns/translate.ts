import type { Trace } from '../canonical/context/trace.ts';
import type { ModelNames } from '../canonical/models/model-names.ts';
import type { Ambient } from '../kit/ambient.ts';
import type { Again, Api, ParsedRequest } from './api.ts';
import type { LocalResponses, TurnState, TurnStates } from './turn-state.ts';

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
  readonly again?: Again;
}

export interface TranslateDeps {
  readonly ambient: Ambient;
  readonly states: TurnStates;
}

export interface Translated {
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
): Promise<Translated> => {
  const { caller, headers, models, signal, onBytes, local, trace, again, isOnlyRead = false } = source;
  const context = { headers, ambient: deps.ambient, models, ...(again === undefined ? {} : { again }) };
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
