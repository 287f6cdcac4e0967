import type { CallableTools } from '../canonical/tool.ts';
import type { ThreadSignal } from '../codex/app-server.ts';
import { isJsonObject } from '../kit/json.ts';

/**
 * What the app-server asks of us while a turn runs. Without a relay it is told of the client's tools, and asks for
 * their calls. The client runs them: the call is in the answer already, nobody answers it here, and the turn is
 * interrupted when the answer ends. A call that the client ruled out is answered as codex answers calls that it
 * does not know; nothing but calls may be asked.
 */
export const answerRequest = (
  request: Extract<ThreadSignal, { kind: 'request' }>,
  callable: CallableTools,
): void => {
  if (request.method !== 'item/tool/call') {
    request.reject('not supported');
    return;
  }
  const { tool, namespace } = isJsonObject(request.params) ? request.params : {};
  const isForClient =
    typeof tool === 'string' &&
    callable.has(tool, 'function', typeof namespace === 'string' ? namespace : undefined);
  if (isForClient) return;
  const text = `unsupported call: ${JSON.stringify(tool ?? null)}`;
  request.respond({ contentItems: [{ type: 'inputText', text }], success: false });
};
