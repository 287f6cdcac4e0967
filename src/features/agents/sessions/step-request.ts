import type { Item } from '../../../canonical/request/item.ts';
import type { ModelNames } from '../../../canonical/models/model-names.ts';
import type { Ambient } from '../../../kit/ambient.ts';
import { present, type JsonObject } from '../../../kit/json/json.ts';
import { NOTHING_LOADED, type Api, type Frame, type ParsedRequest } from '../../../turns/api.ts';
import type { TurnEnded, TurnEvent } from '../../../canonical/events/turn-event.ts';
import type { TurnState } from '../../../turns/turn-state.ts';
import type { AgentSessionStore, SessionItemRow } from '../store/port.ts';
import type { AgentSettings, AgentTool } from './objects.ts';
import { APPROVAL_FUNCTION } from './read-agent.ts';
import { ABORTED, outputOf } from './session-draft.ts';

/** Characters of one read. */
const READ_CHARS = 4 * 1024 * 1024;

export interface SessionHistory {
  readonly items: readonly Item[];
  /** The ids of all items of the session. */
  readonly ids: Set<string>;
  readonly approvals: ReadonlyMap<string, SessionItemRow>;
}

export interface HistoryAsk {
  readonly owner: string;
  readonly sessionId: string;
  /** The places of approvals that are used now: their calls come from the run. By the ids of the calls. */
  readonly used: ReadonlyMap<string, number>;
  /** Called with the size of what is read. Throws if it is too much. */
  readonly onChars: (chars: number) => void;
}

/** What the model gets of a session so far. */
export const readHistory = async (
  store: AgentSessionStore,
  { owner, sessionId, used, onChars }: HistoryAsk,
): Promise<SessionHistory> => {
  const items: Item[] = [];
  const ids = new Set<string>();
  const approvals = new Map<string, SessionItemRow>();
  const callIds = new Map([...used].map(([callId, pos]) => [pos, callId]));
  for (let from = 0; ;) {
    const rows = await store.history(owner, sessionId, from, READ_CHARS);
    const last = rows.at(-1);
    if (last === undefined) return { items: withOutputs(items), ids, approvals };
    from = last.pos + 1;
    for (const row of rows) {
      ids.add(row.id);
      if (row.raw === null || row.raw === undefined) continue;
      onChars(row.raw.length);
      const callId = callIds.get(row.pos);
      if (callId === undefined) for (const item of JSON.parse(row.raw) as readonly Item[]) items.push(item);
      else approvals.set(callId, row);
    }
  }
};

/** A call without an output gets one: backends reject it otherwise. */
const withOutputs = (items: readonly Item[]): readonly Item[] => {
  const answered = new Set<number>();
  const open = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    if (item.kind === 'tool-call') open.set(item.callId, index);
    if (item.kind !== 'tool-output' || item.callId === null) continue;
    const call = open.get(item.callId);
    if (call !== undefined) answered.add(call);
  }
  return items.flatMap((item, index) =>
    item.kind !== 'tool-call' || answered.has(index) ? [item] : [item, outputOf(item, ABORTED)],
  );
};

/** A tool of a session as a tool of a response. */
const toolOf = (tool: AgentTool): JsonObject | null => {
  if (tool.type === 'function') {
    const { name, description, parameters } = tool;
    if (name === APPROVAL_FUNCTION) return null;
    return { type: 'function', name, description, parameters, strict: false };
  }
  if (tool.type !== 'web_search' || tool.mode === 'disabled') return null;
  return {
    type: 'web_search',
    external_web_access: tool.mode === 'live',
    search_context_size: tool.context_size,
    ...(tool.allowed_domains === null ? {} : { filters: { allowed_domains: tool.allowed_domains } }),
    ...(tool.location === null ? {} : { user_location: { type: 'approximate', ...present(tool.location) } }),
  };
};

/** A session's agent as the body of a response. */
const bodyOf = (agent: AgentSettings): JsonObject => ({
  model: agent.model,
  // In its place come the items of the session.
  input: '-',
  stream: true,
  store: true,
  ...(agent.instructions === null ? {} : { instructions: agent.instructions }),
  reasoning: present({ effort: agent.reasoning.effort, summary: agent.reasoning.summary }),
  text: {
    verbosity: agent.text.verbosity,
    ...(agent.text.format.type === 'text'
      ? {}
      : { format: { type: 'json_schema', name: 'answer', strict: true, schema: agent.text.format.schema } }),
  },
  tools: agent.tools.map(toolOf).filter((tool) => tool !== null),
  ...(agent.service_tier === 'auto' ? {} : { service_tier: agent.service_tier }),
});

/** Throws if the agent cannot be a request. `items` replace the input. */
export const stepRequest = (
  responses: Api,
  agent: AgentSettings,
  items: readonly Item[],
  context: { readonly models: ModelNames; readonly ambient: Ambient },
): ParsedRequest => {
  const parsing = { headers: new Headers(), ...context };
  const read = responses.toTurn(responses.parse(bodyOf(agent), parsing), NOTHING_LOADED, parsing);
  const { id: _, dialect: __, metaFor: ___, keeps, ...rest } = read;
  return {
    ...rest,
    request: { ...read.request, items },
    model: agent.model,
    stream: true,
    ignored: [],
    sideRequest: null,
    arrange: (events) => events,
    // No client waits for it.
    ...(keeps?.kind === 'response' ? { keeps: { ...keeps, isStored: true, input: [], queued: {} } } : {}),
  };
};

/** What is kept of a step is kept by its session. */
export const STEP_STATE: TurnState = {
  loaded: NOTHING_LOADED,
  cacheKey: null,
  isKept: () => false,
  record: () => Promise.resolve(true),
  release() {},
};

/** For steps of turns: they have no client, so only their end is read. */
export const stepApi = (path: string, responses: Api, onEnd: (end: TurnEnded) => void): Api => ({
  ...responses,
  path,
  render: (_meta, turns) => noFrames(turns, onEnd),
});

async function* noFrames(
  turns: readonly AsyncIterable<TurnEvent>[],
  onEnd: (end: TurnEnded) => void,
): AsyncGenerator<Frame> {
  for (const events of turns) {
    for await (const event of events) if (event.type === 'turn-ended') onEnd(event);
  }
  yield* [];
}
