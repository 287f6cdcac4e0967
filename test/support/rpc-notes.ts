import { ModelBudget } from '../../src/canonical/context/model-budget.ts';
import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';
import type { KnownNotification } from '../../src/codex/protocol/methods.ts';
import { RpcSource, type RpcSourceOptions } from '../../src/codex/sources/rpc-source.ts';
import type { Anomaly } from '../../src/codex/sources/source.ts';
import { fixedAmbient } from './turn-events.ts';
import { CallableTools } from '../../src/canonical/request/tool.ts';
import { functionTool } from './turn-request.ts';

/** Notifications of an app-server, and the events that an RPC source makes of them. */

export const TURN = 'turn-1';
export const note = (
  method: KnownNotification['method'],
  params: Record<string, unknown>,
): KnownNotification =>
  ({ method, params: { threadId: 't', turnId: TURN, ...params } }) as unknown as KnownNotification;

export const started = (type: 'agentMessage' | 'reasoning', id: string, phase: string | null = null) =>
  note('item/started', { item: { type, id, phase } });
export const text = (itemId: string, delta: string) => note('item/agentMessage/delta', { itemId, delta });
export const raw = (item: Record<string, unknown>) => note('rawResponseItem/completed', { item });
export const rawMessage = (id: string | undefined, value: string, different: Record<string, unknown> = {}) =>
  raw({
    type: 'message',
    role: 'assistant',
    id,
    content: [{ type: 'output_text', text: value }],
    ...different,
  });
export const rawCall = (id: string, name: string, args = '{}') =>
  raw({ type: 'function_call', id, call_id: `call_${id}`, name, arguments: args });
export const USAGE = {
  inputTokens: 10,
  cachedInputTokens: 4,
  cacheWriteInputTokens: 1,
  outputTokens: 5,
  reasoningOutputTokens: 2,
  totalTokens: 15,
};
export const rawDone = (usage: unknown = USAGE) => note('rawResponse/completed', { responseId: 'r', usage });
export const completed = (status = 'completed', error: unknown = null) =>
  note('turn/completed', { turn: { id: TURN, status, error } });

export const start = (different: Partial<RpcSourceOptions> = {}) => {
  const anomalies: Anomaly[] = [];
  const one = new RpcSource({
    turnId: TURN,
    budget: new ModelBudget(64),
    callable: new CallableTools([functionTool('f'), functionTool('g')]),
    parallelToolCalls: true,
    findMcpTool: () => null,
    ambient: fixedAmbient(),
    onAnomaly: (anomaly) => anomalies.push(anomaly),
    ...different,
  });
  const run = (...notifications: readonly KnownNotification[]): TurnEvent[] =>
    notifications.flatMap((notification) => one.take({ kind: 'notified', notification }));
  return { one, run, anomalies };
};
