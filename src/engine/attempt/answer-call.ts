import type { CallableTools } from '../../canonical/request/tool.ts';
import type { ThreadSignal } from '../../codex/app-server.ts';
import { isJsonObject } from '../../kit/json/json.ts';

/**
 * Without a relay the app-server is told of the client's tools, and asks for their calls. The client runs them: the
 * call is in the answer already, nobody answers it here, and the turn is interrupted when the answer ends. A call
 * that the client ruled out is answered as codex answers calls that it does not know.
 */
export const answerCall = (
  call: Extract<ThreadSignal, { kind: 'tool-call' }>,
  callable: CallableTools,
): void => {
  const { tool, namespace } = isJsonObject(call.params) ? call.params : {};
  const isForClient =
    typeof tool === 'string' &&
    callable.has(tool, 'function', typeof namespace === 'string' ? namespace : undefined);
  if (isForClient) return;
  const text = `unsupported call: ${JSON.stringify(tool ?? null)}`;
  call.respond({ contentItems: [{ type: 'inputText', text }], success: false });
};
