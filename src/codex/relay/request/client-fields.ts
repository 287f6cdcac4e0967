import { allTools } from '../../../canonical/request/tool.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import type { Json, JsonObject } from '../../../kit/json/json.ts';
import type { EditField } from '../../capabilities/profile.ts';

/** Which fields of the backend's request say what the client asked for. */
export interface FieldSelection {
  readonly sets: (field: EditField) => boolean;
  /** The client asked for it, and the backend does not take it. */
  readonly isWithheld: (field: EditField) => boolean;
}

/**
 * codex fills in what a client left out, and fits the rest to what it knows about the model. A backend
 * that takes plain requests gets what the client said, and nothing where the client said nothing.
 */
export const setClientFields = (
  edited: Record<string, Json | undefined>,
  request: TurnRequest,
  { sets, isWithheld }: FieldSelection,
): void => {
  const context = sets('reasoning.context') ? request.reasoning.context : null;
  const mode = sets('reasoning.mode') ? request.reasoning.mode : undefined;
  setOrDelete(edited, 'reasoning', {
    ...reasoningOf(request),
    ...(context === null ? {} : { context }),
    ...(mode === undefined ? {} : { mode }),
  });
  const { parallelToolCalls, clientMetadata } = request;
  // Instead of the app-server's own notes about the turn: with them no two requests would be the same bytes.
  setOrDelete(edited, 'client_metadata', sets('client_metadata') ? (clientMetadata ?? {}) : {});
  if (parallelToolCalls === null || isWithheld('parallel_tool_calls')) delete edited['parallel_tool_calls'];
  else edited['parallel_tool_calls'] = parallelToolCalls;
  if (Array.isArray(edited['tools']) && edited['tools'].length === 0) {
    // There are backends that refuse an empty list, and a choice among no tools.
    delete edited['tools'];
    if (request.toolChoice.mode === 'auto' && allTools(request).length === 0) delete edited['tool_choice'];
  }
};

/** codex takes an effort that it does not know for another one, and says nothing. */
const reasoningOf = ({ reasoning: { effort, summary } }: TurnRequest): JsonObject => ({
  ...(effort === null ? {} : { effort }),
  ...(summary === null ? {} : { summary }),
});

const setOrDelete = (edited: Record<string, Json | undefined>, field: string, value: JsonObject): void => {
  if (Object.keys(value).length > 0) edited[field] = value;
  else delete edited[field];
};
