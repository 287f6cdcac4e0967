import { Accumulator, type Reply } from '../../src/canonical/events/accumulate.ts';
import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';
import type { KnownNotification } from '../../src/codex/protocol/methods.ts';
import type { Anomaly, SourceSignal } from '../../src/codex/sources/source.ts';
import { RelaySource, type RelaySourceOptions } from '../../src/codex/sources/relay-source.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { fixedAmbient } from './turn-events.ts';
import { CallableTools } from '../../src/canonical/request/tool.ts';
import { functionTool } from './turn-request.ts';

/** Events of a backend, and what a relay source makes of them. */

export const TURN = 'turn-1';

export const start = (options: Partial<RelaySourceOptions> = {}) => {
  const anomalies: Anomaly[] = [];
  const source = new RelaySource({
    turnId: TURN,
    callable: new CallableTools([functionTool('f')]),
    parallelToolCalls: true,
    findMcpTool: () => null,
    ambient: fixedAmbient(),
    onAnomaly: (anomaly) => anomalies.push(anomaly),
    report: { signIn: null },
    ...options,
  });
  return { source, anomalies };
};

export const said = (type: string, data: JsonObject): SourceSignal => ({
  kind: 'answer-said',
  type: `response.${type}`,
  data: { type: `response.${type}`, ...data },
});
export const BEGUN: SourceSignal = { kind: 'answer-started' };
export const completed = (response: JsonObject = {}): SourceSignal => ({
  kind: 'answer-ended',
  how: 'completed',
  response: { id: 'resp_1', ...response },
});
export const turnCompleted = (error: JsonObject | null = null): SourceSignal => ({
  kind: 'notified',
  notification: {
    method: 'turn/completed',
    params: { threadId: 't', turn: { id: TURN, status: error === null ? 'completed' : 'failed', error } },
  } as unknown as KnownNotification,
});
export const added = (item: JsonObject, output_index = 0): SourceSignal =>
  said('output_item.added', { output_index, item });
export const done = (item: JsonObject, output_index = 0): SourceSignal =>
  said('output_item.done', { output_index, item });
export const message = (text: string, more: JsonObject = {}): JsonObject => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  content: text === '' ? [] : [{ type: 'output_text', text, annotations: [] }],
  ...more,
});
export const call = (name: string, args: string, n = 1): JsonObject => ({
  type: 'function_call',
  id: `fc_${n}`,
  call_id: `call_${n}`,
  name,
  arguments: args,
});
export const text = (delta: string, more: JsonObject = {}): SourceSignal =>
  said('output_text.delta', { item_id: 'msg_1', output_index: 0, content_index: 0, delta, ...more });

export const eventsOf = (
  signals: readonly SourceSignal[],
  options: Partial<RelaySourceOptions> = {},
): { events: TurnEvent[]; anomalies: Anomaly[]; ended: boolean } => {
  const { source, anomalies } = start(options);
  const events = signals.flatMap((signal) => source.take(signal));
  return { events, anomalies, ended: source.ended };
};
export const replyOf = (
  signals: readonly SourceSignal[],
  options: Partial<RelaySourceOptions> = {},
): Reply => {
  const all = new Accumulator();
  for (const event of eventsOf(signals, options).events) all.add(event);
  return all.reply();
};
export const textPart = (words: string, more: object = {}) => ({ kind: 'text', text: words, ...more });
export const told = (words: string, more: object = {}) => ({
  kind: 'message',
  id: 'msg_1',
  role: 'assistant',
  parts: [textPart(words)],
  status: 'completed',
  ...more,
});
