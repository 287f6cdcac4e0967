import type { CallableTools } from '../../../canonical/request/tool.ts';
import type { ThreadSignal } from '../../../codex/app-server.ts';
import { isJsonObject } from '../../../kit/json/json.ts';

/**
 * Handles a tool call of the app-server, which runs the client's tools only without a relay. A call for the client stays
 * open: it is in the answer, whose end interrupts the turn. Other calls fail as codex fails calls of unknown tools.
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
