import { textIn, type JsonObject } from '../../kit/json/json.ts';

/** What a client has to send for each of its calls in an answer, without the results. */
export const requiredInput = (output: readonly JsonObject[]): readonly JsonObject[] => {
  // Some tools run at the backend: then their output is there already.
  const answered = new Set(
    output.filter((item) => textIn(item, 'type').endsWith('_output')).map((item) => textIn(item, 'call_id')),
  );
  return output.flatMap((item) => {
    const stub = answered.has(textIn(item, 'call_id')) ? null : stubOf(item);
    return stub === null ? [] : [stub];
  });
};

/** Calls whose output has only the id of the call. */
const OUTPUTS: Readonly<Record<string, string>> = {
  custom_tool_call: 'custom_tool_call_output',
  computer_call: 'computer_call_output',
  shell_call: 'shell_call_output',
  local_shell_call: 'local_shell_call_output',
  apply_patch_call: 'apply_patch_call_output',
};

const stubOf = (item: JsonObject): JsonObject | null => {
  const type = textIn(item, 'type');
  const callId = textIn(item, 'call_id');
  if (type === 'function_call')
    return { type: 'function_call_output', call_id: callId, name: textIn(item, 'name') };
  if (type === 'tool_search_call') {
    return item['execution'] === 'client'
      ? { type: 'tool_search_output', call_id: callId, execution: 'client' }
      : null;
  }
  if (type === 'mcp_approval_request') {
    return { type: 'mcp_approval_response', approval_request_id: textIn(item, 'id') };
  }
  const output = Object.hasOwn(OUTPUTS, type) ? OUTPUTS[type] : undefined;
  return output === undefined ? null : { type: output, call_id: callId };
};
