import {
  isJsonObject,
  parseJsonObject,
  textIn,
  type Json,
  type JsonObject,
} from '../../src/kit/json/json.ts';
import { COUNTED } from '../../src/apis/sse.ts';
import { playedSigner } from './played-signer.ts';
import { ENDS } from './played-pool.ts';
import type { TraceRecord } from './read-capture.ts';

/** A difference, and where it is. */
export interface Difference {
  readonly place: string;
  readonly was: string;
  readonly is: string;
}

/** The records that the proxy's translators wrote; the others came from outside. */
const PARTS: Readonly<Record<string, (record: TraceRecord) => Json | undefined>> = {
  'call of the app-server': ({ kind, facts }) =>
    kind === 'rpc-sent' && !ENDS.has(textIn(facts, 'method'))
      ? { method: facts['method'], params: facts['params'] }
      : undefined,
  'model request': ({ kind, facts }) => (kind === 'wire-sent' ? facts['after'] : undefined),
  answer: ({ kind, facts }) => (kind === 'answered' ? withoutCounted(facts) : undefined),
  frame: ({ kind, facts }) => (kind === 'frame' ? withoutCounted(facts) : undefined),
};

/** Token counts differ in a replay: a capture has no secrets, and an answer that begins with its count may begin with an estimate. */
const withoutCounted = (facts: JsonObject): JsonObject => {
  const { head, body, note, data } = facts;
  if (isJsonObject(head) && head[COUNTED.header] === COUNTED.value)
    return { ...facts, body: withoutUsage(body) };
  if (isJsonObject(data) && data['type'] === 'message_start')
    return { ...facts, data: { ...data, message: withoutUsage(data['message']) ?? null } };
  return note === undefined ? facts : { ...facts, data: withoutUsage(data) };
};

const withoutUsage = (body: Json | undefined): Json | undefined => {
  if (!isJsonObject(body)) return body;
  const { usage: _, response, ...rest } = body;
  return response === undefined ? rest : { ...rest, response: withoutUsage(response) };
};

/** With what signatures contain in their place: a replay signs with another key. */
const withoutKey = (value: Json | undefined): Json | undefined => {
  if (typeof value === 'string') return signedIn(value) ?? value;
  if (Array.isArray(value)) return value.map((one: Json) => withoutKey(one) ?? null);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutKey(one) ?? null]));
};

/** Without the origin of the reasoning, which captures of earlier versions have elsewhere. */
const signedIn = (value: string): JsonObject | null => {
  const signed = parseJsonObject(playedSigner.open(value) ?? '');
  if (signed === null) return null;
  const { origin: _, item, ...rest } = signed;
  const { origin: __, ...plain } = isJsonObject(item) ? item : {};
  return { ...rest, item: plain };
};

/** Choices run in parallel, so records are compared by thread. Frames have no thread, and keep their order. */
const byThread = (trace: readonly TraceRecord[]): readonly TraceRecord[] => {
  const threadOf = ({ facts: { thread, params } }: TraceRecord): string =>
    typeof thread === 'string' ? thread : isJsonObject(params) ? textIn(params, 'threadId') : '';
  return trace.toSorted((one, other) => threadOf(one).localeCompare(threadOf(other)));
};

/** Limit of the report. */
const MAX_DIFFERENCES = 40;

/** The differences between a capture and its replay. Times are ignored; ids are compared by identity, not by value. */
export const compare = (then: readonly TraceRecord[], now: readonly TraceRecord[]): readonly Difference[] => {
  const found: Difference[] = [];
  const [thenPlain, nowPlain] = [plainer(), plainer()];
  for (const [part, pick] of Object.entries(PARTS)) {
    const [one, other] = [then, now].map((trace) =>
      byThread(trace).flatMap((record) => withoutKey(pick(record)) ?? []),
    ) as [Json[], Json[]];
    for (let at = 0; at < Math.max(one.length, other.length); at += 1) {
      const place = `${part} ${at + 1}`;
      // Ids are numbered in order of appearance.
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

/** The capture with the current output of the translators. Records from outside are unchanged. */
export const accept = (then: readonly TraceRecord[], now: readonly TraceRecord[]): readonly TraceRecord[] => {
  const calls = now.filter((record) => PARTS['call of the app-server']?.(record) !== undefined);
  const requests = now.filter(({ kind }) => kind === 'wire-sent');
  const kept = then.flatMap((record): readonly TraceRecord[] => {
    if (record.kind === 'frame' || record.kind === 'answered' || record.kind === 'end') return [];
    const isCall = PARTS['call of the app-server']?.(record) !== undefined;
    const today = isCall ? calls.shift() : record.kind === 'wire-sent' ? requests.shift() : undefined;
    if (today === undefined) return [record];
    const { params, after } = today.facts;
    return [{ kind: record.kind, facts: { ...record.facts, ...(isCall ? { params } : { after }) } }];
  });
  const answers = now.filter(({ kind }) => kind === 'frame' || kind === 'answered');
  return [...kept, ...answers, { kind: 'end', facts: {} }];
};

/** Formats differences for people. */
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

/** Fields that contain a time. */
const TIMES: ReadonlySet<string> = new Set(['created', 'created_at', 'completed_at']);
/** The time in codex's notes about a turn, which are JSON in a text. */
const NOTED_TIME = /("turn_started_at_unix_ms":)\d+/g;
/** Random ids of the proxy and of codex. */
const IDS = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b([a-z]+)[_-][0-9a-f]{32}\b/g;

/** Returns a function that numbers ids in order of appearance and fixes times. */
const plainer = (): ((value: Json) => Json) => {
  const ids = new Map<string, string>();
  const numbered = (id: string, prefix: string | undefined): string => {
    const known = ids.get(id) ?? `<${prefix ?? 'uuid'} ${ids.size + 1}>`;
    ids.set(id, known);
    return known;
  };
  const plain = (value: Json): Json => {
    if (typeof value === 'string') return value.replaceAll(IDS, numbered).replaceAll(NOTED_TIME, '$1<time>');
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
