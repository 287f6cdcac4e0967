import type { Turn } from '../../canonical/context/turn-context.ts';
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
import { firstAborted } from '../../kit/async/wait.ts';
import { rejectionsFor } from '../../canonical/failure/rejection.ts';
import type { TurnAccepted, TurnEnded, TurnEvent } from '../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { ModelNames } from '../../canonical/models/model-names.ts';
import type { PlanTurn, Plan } from '../engine.ts';
import { Settling, type Step } from './step.ts';

/** A model for short answers, and how much it may reason. */
interface ShortModel {
  readonly model: string;
  /** Null: the model's own default. A second one is for a model that may reject the first. */
  readonly efforts: readonly (string | null)[];
  /** Null: that of the request. */
  readonly serviceTier: string | null;
}

/** How a short answer is made. */
export interface ShortAnswer extends ShortModel {
  /** Plans the short turn: the steps below do not apply to it. */
  readonly plan: PlanTurn;
  /** The text as the client wants it; null: it is not usable. */
  readonly clean: (text: string) => string | null;
  /** For all attempts together. */
  readonly limitMs: number;
  /** `why`: the error that caused it, if any. */
  readonly onResult: (result: ShortResult, why: unknown) => void;
}

export interface ShortOptions extends ShortAnswer {
  /** The request as the ordinary turn needs it: a short answer does without its images, for example. */
  readonly prepare: (request: TurnRequest) => Promise<TurnRequest>;
}

/** `refused`: part of the request would have no effect. `unusable`: the text is not what the client wants. */
export type ShortResult = 'answered' | 'refused' | 'failed' | 'late' | 'unusable' | 'abandoned';

/** Lets a small model answer requests for a line or two, such as a title, in one piece. */
export const answerShortly: Step<{ readonly short: ShortOptions | null }> = {
  name: 'answer-shortly',
  why: 'Clients ask for titles with the large model of the conversation. If no short answer comes, the client does not see the attempt: the ordinary turn, which is everything below, runs in its place.',
  wrap: (next, { short: options }) =>
    options === null
      ? next
      : (request, context) => ({
          ...next(request, context),
          run: (...how) => shortlyOrNot({ request, context }, next, options, how),
        }),
};

async function* shortlyOrNot(
  turn: Turn,
  next: PlanTurn,
  options: ShortOptions,
  [signal, onSettled]: Parameters<Plan['run']>,
): AsyncGenerator<TurnEvent> {
  const settling = new Settling(onSettled);
  const short = await inTime(turn, options, [signal, settling.settle]);
  options.onResult(signal.aborted ? 'abandoned' : short.result, short.why);
  signal.throwIfAborted();
  if (short.result === 'answered') {
    settling.markLast();
    yield* short.events;
    return;
  }
  turn.context.budget.retry('no short answer');
  yield* next(await options.prepare(turn.request), turn.context).run(signal, onSettled);
}

type Short =
  | { readonly result: 'answered'; readonly events: readonly TurnEvent[]; readonly why?: never }
  | { readonly result: Exclude<ShortResult, 'answered'>; readonly why?: unknown };

const inTime = async (
  turn: Turn,
  options: ShortOptions,
  [ended, onSettled]: Parameters<Plan['run']>,
): Promise<Short> => {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), options.limitMs);
  const signal = firstAborted(ended, late.signal);
  let short: Short = { result: 'failed' };
  try {
    for (const effort of options.efforts) {
      short = await attempt(turn, effort, options, [signal, onSettled]).catch(failedBy);
      if (short.result !== 'failed' || !isAboutEffort(short.why)) break;
      if (!turn.context.budget.retry('effort rejected')) break;
    }
  } finally {
    clearTimeout(timer);
  }
  return short.result === 'failed' && late.signal.aborted ? { result: 'late' } : short;
};

const failedBy = (why: unknown): Short => ({ result: 'failed', why });

const isAboutEffort = (why: unknown): boolean => failureOf(why).param?.startsWith('reasoning') === true;

const attempt = async (
  { request, context }: Turn,
  effort: string | null,
  { model, serviceTier, plan, clean }: ShortOptions,
  how: Parameters<Plan['run']>,
): Promise<Short> => {
  const planned = plan(
    {
      ...request,
      model,
      items: request.items.map(inWords),
      reasoning: { effort, summary: null, context: null },
      serviceTier: serviceTier ?? request.serviceTier,
    },
    context,
  );
  const lost = lostBy(request, effort);
  if (planned.refused.length > 0 || rejectionsFor(request, [...planned.ignored, ...lost]).length > 0)
    return { result: 'refused' };
  const answer = await collect(planned.run(...how));
  if (answer === 'too-much') return { result: 'unusable' };
  const { accepted, ended } = answer;
  if (ended?.outcome.kind === 'failed') return failedBy(new GatewayError(ended.outcome.failure));
  if (accepted === null || ended?.outcome.kind !== 'completed') return { result: 'failed' };
  const ignored = [...accepted.ignored, ...lost];
  if (rejectionsFor(request, ignored).length > 0) return { result: 'refused' };
  const text = clean(answer.text);
  if (text === null) return { result: 'unusable' };
  const begun = { ...accepted, ignored, ...(model === request.model ? {} : { servedModel: model }) };
  return { result: 'answered', events: [begun, ...messageOf(answer.id, text), ended] };
};

/** Parts of the request that have no effect on a short answer. */
const lostBy = ({ reasoning, items }: TurnRequest, effort: string | null): readonly Path[] => [
  ...(reasoning.effort === null || reasoning.effort === effort ? [] : (['reasoning.effort'] as const)),
  ...(reasoning.summary === null ? [] : (['reasoning.summary'] as const)),
  ...items.flatMap((one, item) => {
    const parts = one.kind === 'message' ? one.parts : [];
    return parts.flatMap(({ kind }, part): Path[] =>
      kind in SHOWN ? [{ file: { item, of: 'content', part } }] : [],
    );
  }),
];

/** Placeholders for parts that a short answer does not need. */
const SHOWN: Readonly<Partial<Record<Part['kind'], string>>> = {
  image: '[image]',
  audio: '[audio]',
  file: '[file]',
};

const inWords = (item: Item): Item => {
  if (item.kind !== 'message') return item;
  const parts = item.parts.map((part): Part => {
    const text = SHOWN[part.kind];
    return text === undefined ? part : { kind: 'text', text };
  });
  return withParts(item, parts);
};

/** A longer answer is not a short one. */
const MAX_CHARS = 8_192;

interface CollectedAnswer {
  readonly accepted: TurnAccepted | null;
  readonly ended: TurnEnded | null;
  /** The id of the first message. */
  readonly id: string;
  readonly text: string;
}

/** Reads the whole answer; leaves a turn that writes too much. */
const collect = async (events: AsyncIterable<TurnEvent>): Promise<CollectedAnswer | 'too-much'> => {
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

/** Enough for a line; not all models have a lower one. */
const LITTLE_EFFORT = 'low';

/** The model for short answers: the configured one, else the smallest listed one, else the requested one. */
export const shortModelOf = (names: ModelNames, named: string | null, asked: string): ShortModel => {
  const info = named === null ? names.smallest : (names.find(named)?.info ?? null);
  const plain = { model: info?.id ?? asked, effort: null, serviceTier: null };
  const { model, effort, serviceTier } = named === null ? plain : names.resolve(named);
  return { model, efforts: effort === null ? littleOf(info?.efforts ?? null) : [effort], serviceTier };
};

/** An unknown model may reject every effort. */
const littleOf = (efforts: readonly string[] | null): readonly (string | null)[] => {
  if (efforts === null) return [LITTLE_EFFORT, null];
  return [efforts.includes(LITTLE_EFFORT) ? LITTLE_EFFORT : (efforts[0] ?? null)];
};
