import { failureOf, GatewayError } from '../../canonical/failure/failure.ts';
import {
  answerText,
  messageParts,
  withParts,
  type Item,
  type Message,
  type Part,
} from '../../canonical/request/item.ts';
import type { Path } from '../../canonical/request/path.ts';
import { rejectionsFor } from '../../canonical/failure/rejection.ts';
import type { TurnAccepted, TurnEnded, TurnEvent } from '../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { Plan } from '../engine.ts';
import { Settling } from './settling.ts';

/** Who writes what is short, and with how much thought. */
export interface ShortModel {
  readonly model: string;
  /** Null: as much as it likes. A second one is for a model that may know nothing of efforts. */
  readonly efforts: readonly (string | null)[];
  /** Null: that of the request. */
  readonly serviceTier: string | null;
}

export interface ShortOptions extends ShortModel {
  /** What becomes of a request. */
  readonly plan: (request: TurnRequest) => Plan;
  /** What was written, as the caller wants it; null: that is none. */
  readonly clean: (text: string) => string | null;
  /** For all attempts together. */
  readonly limitMs: number;
  /** `why`: the error behind it, where there is one. */
  readonly onResult: (result: ShortResult, why: unknown) => void;
}

/**
 * `refused`: it would lack something that was asked for. `late`: the time was up. `unusable`: what was written
 * is not what the caller wants. `abandoned`: the caller went.
 */
export type ShortResult = 'answered' | 'refused' | 'failed' | 'late' | 'unusable' | 'abandoned';

/**
 * A request whose answer is a line or two is put before another model, and its answer told in one piece. If
 * nothing comes of that, the caller does not see it: the turn that was asked for follows, in the same place.
 */
export const answerShortly = (ordinary: Plan, request: TurnRequest, options: ShortOptions): Plan => ({
  ...ordinary,
  async *run(signal, onSettled) {
    const settling = new Settling(onSettled);
    const short = await inTime(request, options, { signal, onSettled: settling.settle });
    options.onResult(signal.aborted ? 'abandoned' : short.result, short.why);
    signal.throwIfAborted();
    if (short.result !== 'answered') yield* ordinary.run(signal, onSettled);
    else {
      settling.isLast();
      yield* short.events;
    }
  },
});

type Short =
  | { readonly result: 'answered'; readonly events: readonly TurnEvent[]; readonly why?: never }
  | { readonly result: Exclude<ShortResult, 'answered'>; readonly why?: unknown };

interface Running {
  readonly signal: AbortSignal;
  readonly onSettled: () => void;
}

const inTime = async (request: TurnRequest, options: ShortOptions, running: Running): Promise<Short> => {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), options.limitMs);
  const signal = AbortSignal.any([running.signal, late.signal]);
  let short: Short = { result: 'failed' };
  try {
    for (const effort of options.efforts) {
      short = await attempt(request, effort, options, { ...running, signal }).catch(failedBy);
      if (short.result !== 'failed' || !isAboutEffort(short.why)) break;
    }
  } finally {
    clearTimeout(timer);
  }
  return short.result === 'failed' && late.signal.aborted ? { result: 'late' } : short;
};

const failedBy = (why: unknown): Short => ({ result: 'failed', why });

const isAboutEffort = (why: unknown): boolean => failureOf(why).param?.startsWith('reasoning') === true;

const attempt = async (
  request: TurnRequest,
  effort: string | null,
  { model, serviceTier, plan, clean }: ShortOptions,
  { signal, onSettled }: Running,
): Promise<Short> => {
  const planned = plan({
    ...request,
    model,
    items: request.items.map(inWords),
    reasoning: { effort, summary: null, context: null },
    serviceTier: serviceTier ?? request.serviceTier,
  });
  const lost = lostBy(request, effort);
  if (planned.refused.length > 0 || rejectionsFor(request, [...planned.ignored, ...lost]).length > 0)
    return { result: 'refused' };
  const said = await heard(planned.run(signal, onSettled));
  if (said === 'too-much') return { result: 'unusable' };
  const { accepted, ended } = said;
  if (ended?.outcome.kind === 'failed') return failedBy(new GatewayError(ended.outcome.failure));
  if (accepted === null || ended?.outcome.kind !== 'completed') return { result: 'failed' };
  const ignored = [...accepted.ignored, ...lost];
  if (rejectionsFor(request, ignored).length > 0) return { result: 'refused' };
  const text = clean(said.text);
  if (text === null) return { result: 'unusable' };
  const begun: TurnAccepted = {
    ...accepted,
    ignored,
    ...(model === request.model ? {} : { servedModel: model }),
  };
  return { result: 'answered', events: [begun, ...messageOf(said.id, text), ended] };
};

/** What was asked for, and what somebody thinks of who is to be quick. */
const lostBy = ({ reasoning, items }: TurnRequest, effort: string | null): readonly Path[] => [
  ...(reasoning.effort === null || reasoning.effort === effort ? [] : (['reasoning.effort'] as const)),
  ...(reasoning.summary === null ? [] : (['reasoning.summary'] as const)),
  ...items.flatMap((one, item) =>
    one.kind !== 'message'
      ? []
      : one.parts.flatMap(({ kind }, part): Path[] =>
          kind in SHOWN ? [{ file: { item, of: 'content', part } }] : [],
        ),
  ),
];

/** What stands for parts that are not text: a short text is written without looking at them. */
const SHOWN: Readonly<Partial<Record<Part['kind'], string>>> = {
  image: '[image]',
  audio: '[audio]',
  file: '[file]',
};

const inWords = (item: Item): Item =>
  item.kind !== 'message'
    ? item
    : withParts(
        item,
        item.parts.map((part) => {
          const shown = SHOWN[part.kind];
          return shown === undefined ? part : { kind: 'text', text: shown };
        }),
      );

/** Whoever writes more than this does not write what is short. */
const MAX_CHARS = 8_192;

interface Heard {
  readonly accepted: TurnAccepted | null;
  readonly ended: TurnEnded | null;
  /** Of its first message. */
  readonly id: string;
  readonly text: string;
}

/** All that was said; a turn that says too much is left. */
const heard = async (events: AsyncIterable<TurnEvent>): Promise<Heard | 'too-much'> => {
  let accepted: TurnAccepted | null = null;
  let ended: TurnEnded | null = null;
  let id: string | null = null;
  let text = '';
  let chars = 0;
  for await (const event of events) {
    if (event.type === 'turn-accepted') accepted = event;
    else if (event.type === 'turn-ended') ended = event;
    else if (event.type === 'item-delta' && event.at === 'text') chars += event.delta.length;
    else if (event.type === 'item-ended' && event.item.kind === 'message') {
      id ??= event.item.id;
      text += answerText(event.item);
    }
    if (chars > MAX_CHARS) return 'too-much';
  }
  return { accepted, ended, id: id ?? '', text };
};

const messageOf = (id: string, text: string): readonly TurnEvent[] => {
  const head: Message & { readonly id: string } = { kind: 'message', id, role: 'assistant', parts: [] };
  const parts = messageParts({ text, refusal: null, annotations: [], logprobs: [] });
  return [
    { type: 'item-started', item: head },
    { type: 'item-delta', itemId: id, at: 'text', delta: text },
    { type: 'item-ended', item: { ...head, parts, status: 'completed' } },
  ];
};
