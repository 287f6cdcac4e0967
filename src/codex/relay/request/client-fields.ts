import { allTools } from '../../../canonical/request/tool.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import { present, type Json, type JsonObject } from '../../../kit/json/json.ts';
import type { EditField } from '../../capabilities/profile.ts';

/** Which fields of the model request carry the client's values. */
export interface FieldSelection {
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
