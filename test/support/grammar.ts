import { wordsOf, type Produced, type Slot } from '../../src/canonical/request/item.ts';
import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';
import { assertNever } from '../../src/kit/assert-never.ts';
import type { Json } from '../../src/kit/json/json.ts';

/** What was emitted of an item since its start. */
interface Open {
  readonly head: Produced;
  readonly texts: Map<string, string>;
  readonly logprobs: Json[];
  readonly annotations: Json[];
  readonly lastIndex: Map<string, number>;
}

/**
 * Violations of the grammar of turn events (`src/canonical/events/turn-event.ts`), in words; empty if valid.
 */
export const checkGrammar = (events: readonly TurnEvent[]): readonly string[] => {
  const broken: string[] = [];
  const open = new Map<string, Open>();
  const known = new Set<string>();
  const say = (at: number, what: string): void => {
    broken.push(`${at} ${events[at]?.type}: ${what}`);
  };
  for (const [at, event] of events.entries()) {
    switch (event.type) {
      case 'turn-accepted':
        if (at !== 0) say(at, 'it is not the first event');
        break;
      case 'item-started':
        if (known.has(event.item.id)) say(at, `${event.item.id} began before`);
        for (const problem of headProblems(event.item)) say(at, problem);
        known.add(event.item.id);
        open.set(event.item.id, {
          head: event.item,
          texts: new Map(),
          logprobs: [],
          annotations: [],
          lastIndex: new Map(),
        });
        break;
      case 'item-delta': {
        const item = open.get(event.itemId);
        if (item === undefined) {
          say(at, `${event.itemId} is not open`);
          break;
        }
        for (const problem of orderProblems(item, event.at, event.delta)) say(at, problem);
        const key = keyOf(event.at);
        item.texts.set(key, (item.texts.get(key) ?? '') + event.delta);
        item.logprobs.push(...(event.logprobs ?? []));
        if (event.annotation !== undefined) item.annotations.push(event.annotation);
        break;
      }
      case 'item-status':
        if (!open.has(event.itemId)) say(at, `${event.itemId} is not open`);
        break;
      case 'item-ended': {
        const item = open.get(event.item.id);
        if (item === undefined) say(at, `${event.item.id} is not open`);
        else for (const problem of endProblems(item, event.item)) say(at, problem);
        open.delete(event.item.id);
        break;
      }
      case 'turn-ended':
        if (at !== events.length - 1) say(at, 'it is not the last event');
        for (const id of open.keys()) say(at, `${id} is still open`);
        if (!Number.isFinite(event.at)) say(at, 'it does not say when');
    }
  }
  if (events.at(-1)?.type !== 'turn-ended') broken.push('the turn does not end');
  return broken;
};

const keyOf = (slot: Slot): string => (typeof slot === 'string' ? slot : `${slot.list} ${slot.index}`);

const headProblems = (head: Produced): string[] => {
  if (textsOf(head).every((text) => text === '')) return [];
  return ['its head says more than is known at the start'];
};

/** Parts of a list arrive in order, and a refusal follows the text. */
const orderProblems = ({ texts, lastIndex }: Open, at: Slot, delta: string): string[] => {
  if (typeof at === 'string') {
    return at === 'text' && delta !== '' && texts.has('refusal') ? ['text comes after the refusal'] : [];
  }
  const last = lastIndex.get(at.list) ?? 0;
  lastIndex.set(at.list, Math.max(last, at.index));
  return at.index < last ? [`${at.list} ${at.index} comes after ${last}`] : [];
};

const endProblems = (item: Open, ended: Produced): string[] => [
  ...factProblems(item.head, ended),
  ...textProblems(item, ended),
  ...beginsWith(logprobsOf(ended), item.logprobs, 'log probabilities'),
  ...beginsWith(annotationsOf(ended), item.annotations, 'annotations'),
];

/** Fields that grow while an item is open; all others of the head stay. */
const GROWING = new Set(['parts', 'summary', 'content', 'input', 'raw', 'status']);

const factProblems = (head: Produced, ended: Produced): string[] =>
  Object.entries(head).flatMap(([name, value]) =>
    GROWING.has(name) || value === (ended as unknown as Record<string, unknown>)[name]
      ? []
      : [`its ${name} is another than at its start`],
  );

const textProblems = ({ texts }: Open, ended: Produced): string[] => {
  const told = (slot: Slot): string => texts.get(keyOf(slot)) ?? '';
  const differs = (slot: Slot, text: string): string[] =>
    told(slot) === text ? [] : [`its ${keyOf(slot)} is not what the deltas said`];
  switch (ended.kind) {
    case 'message':
      return [
        ...differs('text', wordsOf(ended, 'text')),
        ...differs('refusal', wordsOf(ended, 'refusal')),
        ...(texts.has('refusal') === ended.parts.some((part) => part.kind === 'refusal')
          ? []
          : ['its refusal differs from the deltas']),
      ];
    case 'reasoning': {
      const count = (list: readonly string[]): number[] => [
        ...Array(Math.max(list.length, texts.size)).keys(),
      ];
      return [
        ...count(ended.summary).flatMap((index) =>
          differs({ list: 'summary', index }, ended.summary[index] ?? ''),
        ),
        ...count(ended.content ?? []).flatMap((index) =>
          differs({ list: 'reasoning', index }, ended.content?.[index] ?? ''),
        ),
      ];
    }
    case 'tool-call':
      return differs('input', ended.input);
    case 'hosted-call':
    case 'compaction':
    case 'opaque':
      // Their content is not read.
      return [];
    default:
      return assertNever(ended);
  }
};

const textsOf = (item: Produced): readonly string[] => {
  if (item.kind === 'message') return [wordsOf(item, 'text'), wordsOf(item, 'refusal')];
  if (item.kind === 'reasoning') return [...item.summary, ...(item.content ?? [])];
  return item.kind === 'tool-call' ? [item.input] : [];
};

const beginsWith = (whole: readonly Json[], told: readonly Json[], what: string): string[] =>
  JSON.stringify(whole.slice(0, told.length)) === JSON.stringify(told)
    ? []
    : [`its ${what} differ from the deltas`];

const logprobsOf = (item: Produced): readonly Json[] =>
  item.kind === 'message'
    ? item.parts.flatMap((part) => (part.kind === 'text' ? (part.logprobs ?? []) : []))
    : [];

const annotationsOf = (item: Produced): readonly Json[] =>
  item.kind === 'message'
    ? item.parts.flatMap((part) => (part.kind === 'text' ? (part.annotations ?? []) : []))
    : [];
