import { failureOf } from '../canonical/failure/failure.ts';
import type { ModelBudget } from '../canonical/context/model-budget.ts';
import { measured, type Trace } from '../canonical/context/trace.ts';
import type { TurnAccepted, TurnEvent } from '../canonical/events/turn-event.ts';
import type { TurnRequest } from '../canonical/request/turn-request.ts';
import { rejectionsFor } from '../canonical/failure/rejection.ts';
import { countAhead } from '../engine/count-tokens.ts';
import type { Plan } from '../engine/engine.ts';
import { firstAborted, unlessAborted } from '../kit/async/wait.ts';
import { yieldToLoop } from '../kit/async/event-loop.ts';
import { mapAll, type OneOrMore } from '../kit/collections/lists.ts';
import { tap, type TurnObserver } from '../observe/observer.ts';
import type { Usage } from '../canonical/events/usage.ts';
import type { Clock } from '../kit/ambient.ts';
import type { Turn, TurnContext } from '../canonical/context/turn-context.ts';
import { backgroundOf, requestsOf, type Api, type InputTokens, type ParsedRequest } from './api.ts';
import { resolveAttachments } from './attachments/attachments.ts';
import type { FetchImage } from './attachments/fetch-image.ts';
import type { HeldBytes } from './body-budget.ts';
import { runChoices } from './choices.ts';
import { allPastCommitPoint, inWordsOfCodex } from './commit-point.ts';
import { formatObserver } from './format/check-format.ts';
import { planAnswer } from './plan-answer.ts';
import { turnsOf } from './conversation-key.ts';
import { recordAnswer, recorderOf } from './record-answer.ts';
import { detachedRun, foregroundRun, lateTurn, type DetachedRun, type Run, type RunParts } from './run.ts';
import type { RunCall, RunDeps } from './run-deps.ts';
import { namesWithoutEffect, refusalOf, withName } from './translate.ts';
import type { GateAsk, GatePass, TurnGate } from './turn-gate.ts';

/** Notes when the first of the answers begins, and when each of them is complete. */
const answerMoments = (trace: Trace): TurnObserver => {
  let hasBegun = false;
  return {
    onEvent(event) {
      if (event.type === 'turn-ended') trace.begin('end').end({ outcome: event.outcome.kind });
      else if (!hasBegun && event.type === 'item-delta') {
        hasBegun = true;
        trace.begin('first-delta').end();
      }
    },
  };
};

/** No model has read or written anything. */
const NO_USAGE: Usage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  totalTokens: 0,
};

/** A turn that ends at once, without a model. `onEnd` is called when it has been read, or its reader has left. */
async function* emptyTurn(clock: Clock, onEnd: () => void): AsyncGenerator<TurnEvent> {
  try {
    yield { type: 'turn-ended', outcome: { kind: 'completed' }, usage: NO_USAGE, at: clock.now() };
  } finally {
    onEnd();
  }
}

/** What a run gives back when its last turn has ended. */
export class Owned {
  readonly #releases: (() => void)[] = [];
  readonly #released = Promise.withResolvers<void>();
  #isReleased = false;

  get released(): Promise<void> {
    return this.#released.promise;
  }

  get isReleased(): boolean {
    return this.#isReleased;
  }

  add(release: () => void): void {
    this.#releases.push(release);
  }

  release(): void {
    this.#isReleased = true;
    for (const release of this.#releases.splice(0)) release();
    this.#released.resolve();
  }

  /** Watches so many turns, and releases everything after the last one. */
  until(turns: number): TurnObserver {
    let left = turns;
    return {
      onEnd: () => {
        left -= 1;
        if (left === 0) this.release();
      },
    };
  }
}

interface GateEntry {
  readonly gate: TurnGate;
  readonly owned: Owned;
  readonly signal: AbortSignal;
  readonly asked: GateAsk['asked'];
}

/**
 * Reserves what the turns may use. The run gives it back when it ends, even if that is before the reservation is made. It
 * may reject before it is awaited.
 */
export const enterGate = (
  turns: OneOrMore<Turn>,
  parsed: ParsedRequest,
  { caller, held, state, trace }: RunCall,
  { gate, owned, signal, asked }: GateEntry,
): Promise<GatePass> => {
  const entering = measured(trace.begin('reserve'), () =>
    gate.enter({
      caller,
      requests: mapAll(turns, ({ request }) => request),
      choices: parsed.choices,
      bytes: held.bytes,
      asked,
      isKept: state.isKept(parsed.keeps),
      signal,
      nameOf: (path) => parsed.nameOf(path),
    }),
  );
  const leave = (): Promise<void> =>
    entering.then(
      (pass) => pass.leave(),
      () => undefined,
    );
  owned.add(() => void leave());
  entering.catch(() => undefined);
  return entering;
};

/** Large requests are rare, and copying them costs more than a short wait. */
const LARGE_BYTES = 1024 * 1024;

/** A request that can run: its plan is made, and nothing of it was refused. Exactly one of its methods is called. */
export interface PreparedRun {
  /** Parameters that have no effect, as far as it is known before the turns run. */
  readonly ignored: readonly string[];
  /**
   * Waits for a slot and starts the turns. Resolves when they were accepted, or a stream has waited long enough. Rejects
   * with the failure if they were not: then nothing runs.
   */
  start(): Promise<Run>;
  /** The same, when its frames are read. It cannot fail: if the turn is not accepted, that is the end of the answer. */
  detach(): DetachedRun;
  /** An empty answer. Its input is kept, and no model reads it. */
  skip(): Run;
  giveUp(): void;
}

/**
 * The one path: every API, streaming or not, with or without a client, is served by these lines. This half is everything
 * that can be refused before a slot is needed; the other is `PreparedRun`.
 */
export const prepareRun = async (
  api: Api,
  parsed: ParsedRequest,
  call: RunCall,
  deps: RunDeps,
): Promise<PreparedRun> => {
  const owned = new Owned();
  owned.add(() => call.held.letGo());
  owned.add(() => call.state.release());
  const orRelease = async <Value>(step: () => Promise<Value>): Promise<Value> => {
    try {
      return await step();
    } catch (error) {
      owned.release();
      throw error;
    }
  };
  const prepared = await orRelease(() => prepare(parsed, call, { deps, owned }));
  const all = { deps, owned, prepared };
  const begin = () => orRelease(() => start(parsed, call, all));
  return {
    ignored: namesWithoutEffect(parsed, prepared.planned[0].plan.ignored),
    start: async () => runOf(api, parsed, call, await begin()),
    detach() {
      let isBegun = false;
      const first = async () => {
        isBegun = true;
        try {
          return (await begin()).events[0];
        } catch (error) {
          const failed = failureOf(error);
          if (!prepared.signal.aborted) call.note({ status: failed.status, failure: failed });
          throw error;
        }
      };
      const events = lateTurn(first, {
        clock: deps.ambient.clock,
        signal: prepared.signal,
        onBug: (error) => deps.reports.onBug(error, call),
      });
      return detachedRun({
        ...partsOf(api, parsed, call, { ...all, events: [events] }),
        async abandon() {
          if (!isBegun) owned.release();
        },
      });
    },
    skip: () => runOf(api, parsed, call, skipped(parsed, all)),
    giveUp: () => owned.release(),
  };
};

interface RunParties {
  readonly deps: RunDeps;
  readonly owned: Owned;
}

interface PlannedRun extends RunParties {
  readonly prepared: Awaited<ReturnType<typeof prepare>>;
}

const prepare = async (parsed: ParsedRequest, call: RunCall, starting: RunParties) => {
  const { entering, ...planned } = await measured(call.trace.begin('plan'), () =>
    plan(parsed, call, starting),
  );
  return { ...planned, pass: await entering };
};

const plan = async (parsed: ParsedRequest, call: RunCall, { deps, owned }: RunParties) => {
  const { caller, trace, held } = call;
  const cancelled = new AbortController();
  const signal = call.signal === null ? cancelled.signal : firstAborted(cancelled.signal, call.signal);
  // Parsing a long conversation takes a while, and so does starting its turn.
  await yieldToLoop(signal);
  const budgets: ModelBudget[] = [];
  const openBudget = (): ModelBudget => {
    const budget = deps.rules.openBudget(call, trace);
    budgets.push(budget);
    return budget;
  };
  const running = steerable(parsed, call, { deps, owned });
  const passing = Promise.withResolvers<GatePass>();
  passing.promise.catch(() => undefined);
  const reserve: TurnContext['reserve'] = async (chars, ending) => {
    // It may have been revoked while the turn ran.
    deps.gate.check(caller);
    return (await passing.promise).steer(chars, ending);
  };
  const turns = await turnsOf(parsed, call, {
    deps,
    openBudget,
    steering: running,
    reserve: requestsOf(parsed).length * parsed.choices === 1 ? reserve : null,
  });
  // The database works while the plan is made.
  const entering = enterGate(turns, parsed, call, {
    gate: deps.gate,
    owned,
    signal,
    asked: () => budgets.filter(({ used }) => used > 0).length,
  });
  running?.countBy(entering);
  passing.resolve(entering);
  const resolve = async (request: TurnRequest, { takesImageUrls }: Plan): Promise<TurnRequest> => {
    const resolved = await resolveAttachments(request, counted(deps.images.fetch, held, trace), {
      signal,
      nameOf: (path) => parsed.nameOf(path),
      passesUrls: () => deps.images.passesUrls && takesImageUrls === true,
    });
    await yieldToLoop(signal);
    return resolved;
  };
  const planned = await Promise.all(
    mapAll(turns, (turn) => planAnswer(turn, { parsed, call, deps, resolve, openBudget })),
  );
  const rejections = planned.flatMap((answer) => answer.plan.refused);
  const refused = refusalOf(parsed, rejections, deps.rules.strictParams);
  if (refused !== null) throw refused;
  const checking = deps.formats.of(parsed.request.format, parsed.formatPlace, caller);
  const keepsFormat = await unlessAborted(checking, signal);
  return { cancelled, signal, turns, planned, keepsFormat, entering };
};

/** A stream can be steered until it ends; null: this one cannot. */
const steerable = ({ stream, id }: ParsedRequest, { caller }: RunCall, { deps, owned }: RunParties) => {
  if (!stream || id === undefined) return null;
  owned.add(() => deps.running.close(id));
  return deps.running.open(id, caller);
};

const start = async (
  parsed: ParsedRequest,
  call: RunCall,
  { deps, owned, prepared }: PlannedRun,
): Promise<StartedRun> => {
  const { signal, turns, planned, keepsFormat, pass } = prepared;
  const { caller, held } = call;
  const { clock } = deps.ambient;
  const isBackground = backgroundOf(parsed) !== null;
  const observers = deps.reports.observersOf(parsed, call);
  // Nothing is committed while a turn waits here: a refusal is still a status.
  const places = await measured(call.trace.begin('queue'), () =>
    deps.admission.enter({
      caller,
      turns: turns.length * parsed.choices,
      param: turns.length > 1 ? parsed.nameOf('items') : 'n',
      signal,
      isBackground,
    }),
  );
  owned.add(() => places.forEach((place) => place.leave()));
  deps.gate.check(caller);
  held.settle();
  const usageAhead =
    parsed.stream && parsed.beginsWithUsage === true
      ? { inputTokens: countAhead(turns[0].request, { tokenizer: deps.tokens, clock, caller, signal }) }
      : {};
  const plans = await Promise.all(mapAll(planned, (answer) => answer.prepare()));
  const pace = held.bytes > LARGE_BYTES ? 'one-by-one' : 'at-once';
  const watchers = [
    ...observers,
    ...formatObserver(keepsFormat, () => deps.reports.onFormatMismatch(call)),
    owned.until(places.length),
    answerMoments(call.trace),
  ];
  const stop = new AbortController();
  const either = firstAborted(signal, stop.signal);
  const events = mapAll(runChoices(plans, places, { signal: either, pace }), (turn) =>
    tap(turn, [pass.watch(), ...watchers], {
      clock,
      startedAt: call.startedAt,
      onObserverError: deps.reports.onObserverError,
      signal,
    }),
  );
  const committed = await allPastCommitPoint(events, {
    idleMs: parsed.stream && !isBackground ? deps.rules.keepaliveMs : null,
    clock,
    stop: () => stop.abort(),
    onBug(error) {
      if (!signal.aborted) deps.reports.onBug(error, call);
    },
  }).catch((error: unknown) => inWordsOfCodex(parsed, clock)(withName(parsed, error)));
  const { accepted } = committed[0];
  // Of a turn that is still silent: what was known before it ran.
  const paths = (accepted ?? plans[0]).ignored;
  const late = refusalOf(parsed, rejectionsFor(turns[0].request, paths), deps.rules.strictParams);
  if (late !== null) {
    await Promise.all(committed.map((turn) => turn.giveUp()));
    throw late;
  }
  const ignored = namesWithoutEffect(parsed, paths);
  deps.reports.onIgnored(ignored);
  call.note({ ignored, servedModel: accepted?.servedModel ?? null });
  await call.onAccepted?.();
  return {
    deps,
    owned,
    prepared,
    ignored,
    accepted,
    events: mapAll(committed, (turn) => turn.events),
    ...usageAhead,
    async abandon() {
      if (owned.isReleased) return;
      const left = Promise.all(committed.map((turn) => turn.giveUp()));
      await left.catch((error: unknown) => deps.reports.onBug(error, call));
    },
  };
};

const skipped = (parsed: ParsedRequest, { deps, owned, prepared }: PlannedRun): StartedRun => ({
  deps,
  owned,
  prepared,
  ignored: namesWithoutEffect(parsed, prepared.planned[0].plan.ignored),
  accepted: null,
  events: mapAll(prepared.turns, () => emptyTurn(deps.ambient.clock, () => owned.release())),
  abandon: async () => owned.release(),
});

interface RunTurns extends PlannedRun {
  readonly events: RunParts['events'];
}

interface StartedRun extends RunTurns {
  readonly ignored: readonly string[];
  readonly accepted: TurnAccepted | null;
  readonly abandon: () => Promise<void>;
  readonly inputTokens?: InputTokens;
}

/** The run of turns that were accepted. */
const runOf = (
  api: Api,
  parsed: ParsedRequest,
  call: RunCall,
  { ignored, accepted, abandon, inputTokens, ...begun }: StartedRun,
): Run =>
  foregroundRun({
    ...partsOf(api, parsed, call, begun),
    head: {
      ignored,
      // The upstream's are about the account of this server.
      headers: { ...accepted?.headers, ...begun.prepared.pass.headers },
      ...(accepted?.servedModel === undefined ? {} : { servedModel: accepted.servedModel }),
    },
    abandon,
    ...(inputTokens === undefined ? {} : { inputTokens }),
  });

/** What every run has. */
const partsOf = (
  api: Api,
  parsed: ParsedRequest,
  call: RunCall,
  { deps, owned, prepared, events }: RunTurns,
) => {
  const { ids } = deps.ambient;
  const { cancelled, signal, turns, planned } = prepared;
  const meta = parsed.metaFor?.({ effort: planned[0].plan.effort ?? null }) ?? parsed.meta;
  const cacheKey = turns[0].context.conversation;
  return {
    id: parsed.id ?? ids.mint('run'),
    meta,
    ended: owned.released,
    cancel: (reason?: unknown) => cancelled.abort(reason),
    api,
    events: recordAnswer(events, {
      arrange: (turn) => parsed.arrange(turn),
      record: recorderOf(api, { ...parsed, meta }, call.state, { cacheKey, ids, signal, trace: call.trace }),
    }),
    signal,
  };
};

/** What is fetched for a request is held as long as its body. */
const counted =
  (fetchImage: FetchImage, held: HeldBytes, trace: Trace): FetchImage =>
  async (url, param, signal) => {
    const image = await measured(trace.begin('fetch'), () => fetchImage(url, param, signal));
    trace.record('fetched', { url, image });
    held.grow(image.length);
    return image;
  };
