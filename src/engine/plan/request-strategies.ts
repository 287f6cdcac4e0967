import type { Failure } from '../../canonical/failure/failure.ts';
import { circumstancesOf, type Turn } from '../../canonical/context/turn-context.ts';
import { isOnlyOnFull, needsFullLane } from '../../codex/capabilities/lanes.ts';
import { hasNamespace } from '../../codex/translate/fit-tools.ts';
import type { RequestStrategy, Lane } from '../../codex/translate/request-strategy.ts';
import { wholeHistory, withoutReasoning } from '../../codex/translate/fit-history.ts';
import type { Clock } from '../../kit/ambient.ts';
import { Recent } from '../../kit/collections/recent.ts';
import { isAboutCustomTools, isAboutNamespaces } from './about-tools.ts';
import { hasCustomTools } from './custom-as-functions.ts';

/** The lanes of a ChatGPT login. */
export interface LaneChoice {
  readonly setting: 'auto' | Lane;
  /** Whether codex itself uses the lite lane for this model. */
  isLite(model: string): boolean;
  /** The app-server's name of such a model on the full lane. */
  fullSlug(model: string): string;
}

export interface RequestStrategiesOptions {
  /** Null: the backend knows plain requests only. */
  readonly lanes: LaneChoice | null;
  readonly hasRelay: boolean;
  readonly clock: Clock;
  /** A backend refused the one and took the other; that is remembered for a while. */
  readonly onLearnt: (model: string, refused: RequestStrategy, taken: RequestStrategy) => void;
}

/** Model names and conversations come from clients: what is remembered about them has an end. */
const MAX_LEARNT = 1_000;
const MAX_CONVERSATIONS = 10_000;
/** A backend may learn too. */
const LEARNT_FOR_MS = 10 * 60_000;
/** A prompt cache does not live longer than this without being used. */
const CACHED_FOR_MS = 60 * 60_000;

/** How requests are put before the backend: what codex would do, what a request needs, and what was learnt. */
export class RequestStrategies {
  readonly #options: RequestStrategiesOptions;
  /** The lane that a request was refused on, while the other one worked. */
  readonly #refusedLanes: Recent<Lane>;
  /** The lanes on which a model has answered: what is refused there is refused for its own sake. */
  readonly #answered: Recent<true>;
  /** Where instructions do not stand in their field. */
  readonly #asMessage: Recent<true>;
  /** Where custom tools are told as functions. */
  readonly #asFunctions: Recent<true>;
  /** Where calls say nothing of their namespace. */
  readonly #withoutNamespaces: Recent<true>;
  /** A conversation stays on its lane: its prompt is cached there. */
  readonly #lanes: Recent<Lane>;

  constructor(options: RequestStrategiesOptions) {
    this.#options = options;
    this.#refusedLanes = new Recent(MAX_LEARNT, LEARNT_FOR_MS, options.clock);
    this.#answered = new Recent(2 * MAX_LEARNT, LEARNT_FOR_MS, options.clock);
    this.#asMessage = new Recent(MAX_LEARNT, LEARNT_FOR_MS, options.clock);
    this.#asFunctions = new Recent(MAX_LEARNT, LEARNT_FOR_MS, options.clock);
    this.#withoutNamespaces = new Recent(MAX_LEARNT, LEARNT_FOR_MS, options.clock);
    this.#lanes = new Recent(MAX_CONVERSATIONS, CACHED_FOR_MS, options.clock);
  }

  first(turn: Turn): RequestStrategy {
    return this.#on(this.#laneFor(turn), turn, 'kept');
  }

  /** What to try after a refusal that came before the answer began; null: the refusal is the answer. */
  next(turn: Turn, tried: readonly RequestStrategy[], refusal: Failure): RequestStrategy | null {
    const { request } = turn;
    const last = tried.at(-1);
    if (last === undefined || tried.length >= MAX_APPROACHES) return null;
    if (isUnreadable(refusal)) {
      const canGoWithout =
        last.reasoning === 'kept' && withoutReasoning(wholeHistory(request.items)) !== null;
      return canGoWithout ? { ...last, reasoning: 'left-out' } : null;
    }
    if (last.instructions === 'field' && isAboutInstructions(refusal)) {
      return { ...last, instructions: 'message' };
    }
    if (
      last.customTools === 'native' &&
      hasCustomTools(request) &&
      isAboutCustomTools(refusal, request.tools)
    ) {
      return { ...last, customTools: 'functions' };
    }
    if (last.namespaces === 'kept' && request.items.some(hasNamespace) && isAboutNamespaces(refusal)) {
      return { ...last, namespaces: 'left-out' };
    }
    const lane: Lane = last.lane === 'full' ? 'lite' : 'full';
    if (lane === 'lite' && request.tools.some(isOnlyOnFull)) return null;
    const isTried = tried.some((strategy) => strategy.lane === lane);
    if (isTried || !this.#maySwitch(request.model) || !isAboutLane(refusal)) return null;
    const { reasoning, customTools, namespaces } = last;
    return { ...this.#on(lane, turn, reasoning), customTools, namespaces };
  }

  /** The refusal as the caller is told it: in one case the backend's words do not say what helps. */
  told(refusal: Failure): Failure {
    if (this.#options.hasRelay || !isAboutInstructions(refusal)) return refusal;
    return { ...refusal, message: `${refusal.message} ${ONLY_WITH_RELAY}` };
  }

  /** The last of these was taken, those before it were refused. */
  worked(turn: Turn, tried: readonly RequestStrategy[]): void {
    const { request, context } = turn;
    const last = tried.at(-1);
    if (last === undefined) return;
    for (const refused of tried.slice(0, -1)) {
      if (refused.lane !== last.lane) {
        // One client's request must not take the lane, and what it alone can say, from all others.
        if (this.#answered.get(`${refused.lane} ${request.model}`) !== undefined) continue;
        this.#refusedLanes.set(circumstancesOf(turn), refused.lane);
      } else if (refused.instructions !== last.instructions) {
        this.#asMessage.set(circumstancesOf(turn), true);
      }
      this.#options.onLearnt(request.model, refused, last);
    }
    const circumstances = circumstancesOf(turn);
    if (tried.some(({ customTools }) => customTools !== last.customTools)) {
      this.#asFunctions.set(circumstances, true);
    }
    if (tried.some(({ namespaces }) => namespaces !== last.namespaces)) {
      this.#withoutNamespaces.set(circumstances, true);
    }
    if (!this.#hasTwoLanes(request.model)) return;
    this.#answered.set(`${last.lane} ${request.model}`, true);
    this.#lanes.set(context.conversation, last.lane);
  }

  #laneFor(turn: Turn): Lane {
    const { request, context } = turn;
    const { lanes, hasRelay } = this.#options;
    if (lanes === null || !lanes.isLite(request.model)) return 'full';
    // Only a relay can give a model of the full lane its name back.
    if (!hasRelay) return 'lite';
    if (lanes.setting !== 'auto') return lanes.setting;
    const refused = this.#refusedLanes.get(circumstancesOf(turn));
    // Who wants no answer without what only that lane can say gets it tried again.
    const isWanted =
      refused === 'full' &&
      ((request.isStrict === true && needsFullLane(request)) || request.tools.some(isOnlyOnFull));
    if (refused !== undefined && !isWanted) return refused === 'full' ? 'lite' : 'full';
    return needsFullLane(request) ? 'full' : (this.#lanes.get(context.conversation) ?? 'lite');
  }

  #on(lane: Lane, turn: Turn, reasoning: RequestStrategy['reasoning']): RequestStrategy {
    const { model } = turn.request;
    const { hasRelay } = this.#options;
    const isLearnt = (what: Recent<true>): boolean => what.get(circumstancesOf(turn)) !== undefined;
    const isMessage = lane === 'lite' || !hasRelay || isLearnt(this.#asMessage);
    return {
      lane,
      slug: lane === 'full' && this.#hasTwoLanes(model) ? this.#fullSlug(model) : model,
      instructions: isMessage ? 'message' : 'field',
      reasoning,
      // The app-server itself can tell of functions only.
      customTools: !hasRelay || isLearnt(this.#asFunctions) ? 'functions' : 'native',
      namespaces: isLearnt(this.#withoutNamespaces) ? 'left-out' : 'kept',
    };
  }

  #fullSlug(model: string): string {
    return this.#options.lanes?.fullSlug(model) ?? model;
  }

  #hasTwoLanes(model: string): boolean {
    const { lanes, hasRelay } = this.#options;
    return hasRelay && lanes !== null && lanes.isLite(model);
  }

  #maySwitch(model: string): boolean {
    return this.#hasTwoLanes(model) && this.#options.lanes?.setting === 'auto';
  }
}

/** codex writes instructions as a message, whatever the model. */
const ONLY_WITH_RELAY =
  '(This model wants instructions in a field that only the relay of this server can set, and the relay is off: see PROXY_WIRE.)';

/** Both lanes, instructions in both places, with and without reasoning, custom tools, namespaces: more is no answer. */
const MAX_APPROACHES = 7;

/** Reasoning of another account, or of a key that is gone. */
export const isUnreadable = ({ code }: Failure): boolean => code === 'invalid_encrypted_content';

const isAboutInstructions = ({ status, message }: Failure): boolean =>
  status === 400 &&
  /\binstructions\b/i.test(message) &&
  /required|missing|not valid|invalid|un(?:supported|known|recognized)|not (?:supported|allowed)/i.test(
    message,
  );

/** A refusal with a code of its own has a cause of its own; these words are about the lane all the same. */
const isAboutLane = ({ kind, code, message }: Failure): boolean =>
  kind === 'invalid_prompt' &&
  (code === 'invalid_prompt' ||
    /tool.?choice|parallel_tool_calls|additional_tools|\bdetail\b|reasoning\.context|\blite\b/i.test(
      message,
    ));
