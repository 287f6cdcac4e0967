import { isJsonObject, textIn, type Json, type JsonObject } from '../../src/kit/json/json.ts';
import { COUNTED } from '../../src/openai/shared/sse.ts';
import { ENDS } from './played-pool.ts';
import type { Told } from './read-story.ts';

/** What is different today, by its place. */
export interface Difference {
  readonly place: string;
  readonly was: string;
  readonly is: string;
}

/** What our own translators said, in the parts of a story; the rest is what others said to us. */
const PARTS: Readonly<Record<string, (told: Told) => Json | undefined>> = {
  'call of the app-server': ({ kind, facts }) =>
    kind === 'rpc-sent' && !ENDS.has(textIn(facts, 'method'))
      ? { method: facts['method'], params: facts['params'] }
      : undefined,
  'model request': ({ kind, facts }) => (kind === 'wire-sent' ? facts['after'] : undefined),
  answer: ({ kind, facts }) => (kind === 'answered' ? withoutCounted(facts) : undefined),
  frame: ({ kind, facts }) => (kind === 'frame' ? withoutCounted(facts) : undefined),
};

/** Tokens that were counted here differ when a story is played: secrets in the request are hidden in it. */
const withoutCounted = (facts: JsonObject): JsonObject => {
  const { head, body, note, data } = facts;
  if (isJsonObject(head) && head[COUNTED.header] === COUNTED.value)
    return { ...facts, body: withoutUsage(body) };
  return note === undefined ? facts : { ...facts, data: withoutUsage(data) };
};

const withoutUsage = (body: Json | undefined): Json | undefined => {
  if (!isJsonObject(body)) return body;
  const { usage: _, response, ...rest } = body;
  return response === undefined ? rest : { ...rest, response: withoutUsage(response) };
};

/** Choices run at once, in whatever order: each thread for itself. Frames have no thread, and stay in their order. */
const byThread = (trace: readonly Told[]): readonly Told[] => {
  const threadOf = ({ facts: { thread, params } }: Told): string =>
    typeof thread === 'string' ? thread : isJsonObject(params) ? textIn(params, 'threadId') : '';
  return trace.toSorted((one, other) => threadOf(one).localeCompare(threadOf(other)));
};

/** More would not be read. */
const MAX_DIFFERENCES = 40;

/** How a story would be different today; empty: not at all. Ids and times are not compared, but that one id is one id is. */
export const compare = (then: readonly Told[], now: readonly Told[]): readonly Difference[] => {
  const found: Difference[] = [];
  const [thenPlain, nowPlain] = [plainer(), plainer()];
  for (const [part, pick] of Object.entries(PARTS)) {
    const [one, other] = [then, now].map((trace) => byThread(trace).flatMap((told) => pick(told) ?? [])) as [
      Json[],
      Json[],
    ];
    for (let at = 0; at < Math.max(one.length, other.length); at += 1) {
      const place = `${part} ${at + 1}`;
      // The plain forms count ids in the order in which they come.
      const pair = [one[at], other[at]] as const;
      const [before, after] = [
        pair[0] === undefined ? undefined : thenPlain(pair[0]),
        pair[1] === undefined ? undefined : nowPlain(pair[1]),
      ];
      differ(before, after, place, found);
    }
  }
  return found.slice(0, MAX_DIFFERENCES);
};

/**
 * The story with what our translators say today in place of what they said then: a difference is wanted, and the
 * story is to hold from now on. What others said stays as it was.
 */
export const accept = (then: readonly Told[], now: readonly Told[]): readonly Told[] => {
  const calls = now.filter((told) => PARTS['call of the app-server']?.(told) !== undefined);
  const requests = now.filter(({ kind }) => kind === 'wire-sent');
  const kept = then.flatMap((told): readonly Told[] => {
    if (told.kind === 'frame' || told.kind === 'answered' || told.kind === 'end') return [];
    const isCall = PARTS['call of the app-server']?.(told) !== undefined;
    const today = isCall ? calls.shift() : told.kind === 'wire-sent' ? requests.shift() : undefined;
    if (today === undefined) return [told];
    const { params, after } = today.facts;
    return [{ kind: told.kind, facts: { ...told.facts, ...(isCall ? { params } : { after }) } }];
  });
  const answers = now.filter(({ kind }) => kind === 'frame' || kind === 'answered');
  return [...kept, ...answers, { kind: 'end', facts: {} }];
};

/** A readable page about them. */
export const describe = (differences: readonly Difference[]): string =>
  differences.map(({ place, was, is }) => `${place}\n  - ${was}\n  + ${is}\n`).join('\n');

const differ = (then: Json | undefined, now: Json | undefined, place: string, found: Difference[]): void => {
  if (found.length >= MAX_DIFFERENCES) return;
  if (Array.isArray(then) && Array.isArray(now)) {
    for (let at = 0; at < Math.max(then.length, now.length); at += 1) {
      differ((then as Json[])[at], (now as Json[])[at], `${place}[${at}]`, found);
    }
  } else if (isJsonObject(then) && isJsonObject(now)) {
    for (const key of new Set([...Object.keys(then), ...Object.keys(now)])) {
      differ(then[key], now[key], `${place}.${key}`, found);
    }
  } else if (then !== now) found.push({ place, was: shown(then), is: shown(now) });
};

const MAX_SHOWN = 400;

const shown = (value: Json | undefined): string => {
  if (value === undefined) return '(nothing)';
  const text = JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
};

/** Members that hold a moment. */
const TIMES: ReadonlySet<string> = new Set(['created', 'created_at', 'completed_at']);
/** Ids that are made anew each time: our own, and those of codex. */
const IDS = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b([a-z]+)[_-][0-9a-f]{32}\b/g;

/** A value in which ids have numbers, by the order in which they were first seen, and times are one time. */
const plainer = (): ((value: Json) => Json) => {
  const ids = new Map<string, string>();
  const numbered = (id: string, prefix: string | undefined): string => {
    const known = ids.get(id) ?? `<${prefix ?? 'uuid'} ${ids.size + 1}>`;
    ids.set(id, known);
    return known;
  };
  const plain = (value: Json): Json => {
    if (typeof value === 'string') return value.replaceAll(IDS, numbered);
    if (Array.isArray(value)) return (value as readonly Json[]).map(plain);
    return isJsonObject(value) ? plainObject(value) : value;
  };
  const plainObject = (object: JsonObject): JsonObject =>
    Object.fromEntries(
      Object.entries(object).flatMap(([name, value]) => {
        if (value === undefined) return [];
        return [[name, TIMES.has(name) && typeof value === 'number' ? '<time>' : plain(value)]];
      }),
    );
  return plain;
};
