import {
  argumentsOf,
  textOf,
  type AgentEvent,
  type AgentItem,
  type AgentSession,
  type AgentTurn,
} from './agent-answers.ts';
import { keptChars, NO_OUTPUT, outputOf, trimmed, withText, type Output } from './output.ts';

/** An item with what has arrived of it. */
export interface Entry {
  readonly item: AgentItem;
  /** Nothing more arrives. */
  readonly isDone: boolean;
  /** It was loaded, and did not run before the eyes of this person. */
  readonly isHistory: boolean;
  /** The parts of a message or a summary, while it is written. */
  readonly parts: readonly string[];
  /** Of a command; null for other items. */
  readonly output: Output | null;
}

export interface WatchedTurn {
  readonly id: string;
  /** Null: its object has not been loaded. */
  readonly turn: AgentTurn | null;
  readonly entries: readonly Entry[];
}

export interface PlanStep {
  readonly step: string;
  readonly status: 'completed' | 'in_progress' | 'pending';
}

/** What the page shows of a session. */
export interface Watched {
  readonly session: AgentSession;
  readonly turns: readonly WatchedTurn[];
  readonly plan: readonly PlanStep[];
  /** Why the server ended the stream; null: it did not. */
  readonly streamError: string | null;
}

const isEnded = (status: unknown): boolean => status !== 'in_progress' && status !== 'queued';

const entryOf = (item: AgentItem, isHistory: boolean, before?: Entry): Entry => {
  const isDone = isEnded(item.status);
  const isCommand = item.type === 'command_execution';
  const output = isCommand ? outputAfter(item, before?.output ?? null) : null;
  // The whole output may have a megabyte.
  const kept = isCommand ? { ...item, output: null } : item;
  return {
    item: kept,
    isDone,
    isHistory: before?.isHistory ?? isHistory,
    parts: before?.parts ?? [],
    output,
  };
};

/** The item's own output counts, unless it is what has arrived already. */
const outputAfter = (item: AgentItem, live: Output | null): Output => {
  const whole = item['output'];
  if (typeof whole !== 'string') return live ?? NO_OUTPUT;
  return live !== null && live.chars === whole.length ? live : outputOf(whole);
};

/** The state of a session whose newest turns and items were loaded. Both are in the order in which they began. */
export const watchedOf = (
  session: AgentSession,
  turns: readonly AgentTurn[],
  items: readonly AgentItem[],
): Watched => withEarlier({ session, turns: [], plan: planIn(items), streamError: null }, turns, items);

/** Puts earlier turns and items before those that are there. */
export const withEarlier = (
  watched: Watched,
  turns: readonly AgentTurn[],
  items: readonly AgentItem[],
): Watched => {
  const objects = new Map(turns.map((turn) => [turn.id, turn]));
  const known = new Set(watched.turns.flatMap(({ entries }) => entries.map(({ item }) => item.id)));
  const earlier = new Map<string, Entry[]>();
  for (const item of items) {
    if (known.has(item.id)) continue;
    const entries = earlier.get(item.turn_id) ?? [];
    earlier.set(item.turn_id, [...entries, entryOf(item, true)]);
  }
  const there = new Set(watched.turns.map(({ id }) => id));
  const added = [...earlier].filter(([id]) => !there.has(id));
  // A turn that has just begun may have no item yet.
  const empty = turns.filter(({ id, status }) => !isTurnOver(status) && !earlier.has(id) && !there.has(id));
  return {
    ...watched,
    plan: watched.plan.length > 0 ? watched.plan : planIn(items),
    turns: [
      ...added.map(([id, entries]) => ({ id, turn: objects.get(id) ?? null, entries })),
      ...watched.turns.map((one) => ({
        ...one,
        turn: one.turn ?? objects.get(one.id) ?? null,
        entries: [...(earlier.get(one.id) ?? []), ...one.entries],
      })),
      ...empty.map((turn) => ({ id: turn.id, turn, entries: [] })),
    ],
  };
};

const isTurnOver = (status: AgentTurn['status']): boolean =>
  status === 'cancelled' || status === 'completed' || status === 'failed';

/** The turn that runs or waits; null: there is none. */
export const openTurn = ({ turns }: Watched): AgentTurn | null => {
  const turn = turns.findLast((one) => one.turn !== null && !isTurnOver(one.turn.status))?.turn;
  return turn ?? null;
};

const DELTAS: ReadonlySet<string> = new Set([
  'agent.output.command_execution_output.delta',
  'agent.session.turn.output_text.delta',
  'agent.session.turn.reasoning_summary_text.delta',
]);

const placeOf = (event: AgentEvent): number => event.content_index ?? event.summary_index ?? 0;

/** Joins deltas of the same text that follow each other: a command may send thousands of them. */
const joined = (events: readonly AgentEvent[]): readonly AgentEvent[] => {
  const found: { event: AgentEvent; deltas: string[] }[] = [];
  for (const event of events) {
    const last = found.at(-1);
    const continues =
      last !== undefined &&
      DELTAS.has(event.type) &&
      last.event.type === event.type &&
      last.event.item_id === event.item_id &&
      placeOf(last.event) === placeOf(event);
    if (continues) last.deltas.push(event.delta ?? '');
    else found.push({ event, deltas: [event.delta ?? ''] });
  }
  return found.map(({ event, deltas }) =>
    deltas.length === 1 ? event : { ...event, delta: deltas.join('') },
  );
};

export const afterEvents = (watched: Watched, events: readonly AgentEvent[]): Watched =>
  withinLimit(joined(events).reduce(afterEvent, watched));

/** Of all outputs of the page. */
export const MAX_OUTPUT_CHARS = 16 * 1024 * 1024;

/** While the outputs are too large together, the oldest ones lose their middle. */
const withinLimit = (watched: Watched): Watched => {
  const outputs = watched.turns.flatMap(({ entries }) => entries.flatMap(({ output }) => output ?? []));
  let excess = outputs.reduce((sum, output) => sum + keptChars(output), 0) - MAX_OUTPUT_CHARS;
  if (excess <= 0) return watched;
  const shortened = (entry: Entry): Entry => {
    if (excess <= 0 || !entry.isDone || entry.output === null) return entry;
    const output = trimmed(entry.output);
    excess -= keptChars(entry.output) - keptChars(output);
    return output === entry.output ? entry : { ...entry, output };
  };
  return {
    ...watched,
    turns: watched.turns.map((turn) => ({ ...turn, entries: turn.entries.map(shortened) })),
  };
};

const afterEvent = (watched: Watched, event: AgentEvent): Watched => {
  if (event.session !== undefined) return { ...watched, session: event.session, streamError: null };
  if (event.turn !== undefined) return withTurn(watched, event.turn);
  if (event.item !== undefined) return withItem(watched, event.item);
  if (event.item_id !== undefined) return withPart(watched, event);
  if (event.type === 'error') return { ...watched, streamError: messageIn(event) };
  const plan = event.type.startsWith('codex.') ? stepsOf(event['plan']) : [];
  return plan.length > 0 ? { ...watched, plan } : watched;
};

const messageIn = ({ message, error }: AgentEvent): string => {
  const text = message ?? (error as { readonly message?: unknown } | null | undefined)?.message;
  return typeof text === 'string' ? text : 'The server ended the stream.';
};

const withTurn = (watched: Watched, turn: AgentTurn): Watched => {
  const before = watched.turns.find(({ id }) => id === turn.id);
  if (before === undefined)
    return { ...watched, turns: [...watched.turns, { id: turn.id, turn, entries: [] }] };
  // What a turn leaves open does not go on.
  const entries = isTurnOver(turn.status)
    ? before.entries.map((entry) => (entry.isDone ? entry : { ...entry, isDone: true }))
    : before.entries;
  return replaced(watched, { ...before, turn, entries });
};

const replaced = (watched: Watched, turn: WatchedTurn): Watched => ({
  ...watched,
  turns: watched.turns.map((one) => (one.id === turn.id ? turn : one)),
});

const withItem = (watched: Watched, item: AgentItem): Watched => {
  const plan = planIn([item]);
  const planned = plan.length > 0 ? { ...watched, plan } : watched;
  const turn = planned.turns.find(({ id }) => id === item.turn_id);
  if (turn === undefined)
    return {
      ...planned,
      turns: [...planned.turns, { id: item.turn_id, turn: null, entries: [entryOf(item, false)] }],
    };
  const before = turn.entries.find((entry) => entry.item.id === item.id);
  if (before === undefined)
    return replaced(planned, { ...turn, entries: [...turn.entries, entryOf(item, false)] });
  // An event that was on its way while the item was loaded.
  if (before.isDone && !isEnded(item.status)) return watched;
  const next = entryOf(item, false, before);
  return replaced(planned, {
    ...turn,
    entries: turn.entries.map((entry) => (entry === before ? next : entry)),
  });
};

const withPart = (watched: Watched, event: AgentEvent): Watched => {
  const turn = watched.turns.findLast(({ entries }) => entries.some(({ item }) => item.id === event.item_id));
  const entry = turn?.entries.find(({ item }) => item.id === event.item_id);
  // The whole item is there already, or comes when it is done.
  if (turn === undefined || entry === undefined || entry.isDone) return watched;
  const next = entryAfter(entry, event);
  return replaced(watched, {
    ...turn,
    entries: turn.entries.map((one) => (one === entry ? next : one)),
  });
};

const entryAfter = (entry: Entry, event: AgentEvent): Entry => {
  const { type, delta, text } = event;
  if (type === 'agent.output.command_execution_output.delta')
    return { ...entry, output: withText(entry.output ?? NO_OUTPUT, delta ?? '') };
  const at = placeOf(event);
  const parts = [...entry.parts];
  while (parts.length < at) parts.push('');
  if (type.endsWith('_text.delta')) parts[at] = (parts[at] ?? '') + (delta ?? '');
  else if (type.endsWith('_text.done') && typeof text === 'string') parts[at] = text;
  else return entry;
  return { ...entry, parts };
};

/** The text of a message or of a summary as far as it has arrived. */
export const shownText = ({ item, isDone, parts }: Entry): string => {
  const whole = textOf(item);
  return isDone && whole !== '' ? whole : parts.length > 0 ? parts.join('\n\n') : whole;
};

/** The newest plan in these items. */
const planIn = (items: readonly AgentItem[]): readonly PlanStep[] => {
  const call = items.findLast((item) => item['name'] === 'update_plan');
  return call === undefined ? [] : stepsOf(argumentsOf(call['arguments'])['plan']);
};

export const stepsOf = (plan: unknown): readonly PlanStep[] =>
  Array.isArray(plan)
    ? plan.flatMap((one: Readonly<Record<string, unknown>> | null) => {
        const step = one?.['step'];
        const status = one?.['status'];
        if (typeof step !== 'string') return [];
        return [{ step, status: status === 'completed' || status === 'in_progress' ? status : 'pending' }];
      })
    : [];
