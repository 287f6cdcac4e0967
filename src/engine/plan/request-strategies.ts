import { itemFacts } from '../../canonical/request/item-facts.ts';
import type { Failure } from '../../canonical/failure/failure.ts';
import type { Turn } from '../../canonical/context/turn-context.ts';
import { isResponsesOnly, needsResponsesFormat } from '../../codex/capabilities/request-formats.ts';
import type { RequestStrategy, RequestFormat } from '../../codex/translate/request-strategy.ts';
import { wholeHistory, withoutReasoning } from '../../codex/translate/fit-history.ts';
import type { Clock } from '../../kit/ambient.ts';
import { Recent } from '../../kit/collections/recent.ts';
import type { Refusals } from '../../codex/capabilities/refusals.ts';
import type { Item } from '../../canonical/request/item.ts';
import type { Tool } from '../../canonical/request/tool.ts';
import type { DriverTraits } from '../drivers/driver.ts';
import { hasCustomTools } from './custom-as-functions.ts';

/** Whether a backend rejects custom tools as such, and not the definition of one. */
export const isAboutCustomTools = (refusal: Failure, tools: readonly Tool[]): boolean => {
  const { status, param, message } = refusal;
  if (status !== 400 || /grammar|lark|regex|syntax|\bformat\b|duplicate/i.test(`${param ?? ''} ${message}`)) {
    return false;
  }
  const [, index] =
    /^(?:body\.)?tools(?:\[|\.)(\d+)\]?(?:\.(?:type|function|parameters)\b|$)/.exec(param ?? '') ?? [];
  if (index !== undefined && tools[Number(index)]?.kind === 'custom') return true;
  return (
    (/\bcustom(?:_tool_call)?(?:_output)?\b/i.test(message) && COMPLAINS.test(message)) ||
    ONLY_FUNCTIONS.test(message)
  );
};

const COMPLAINS =
  /un(?:supported|known|recogni[sz]ed|expected)|invalid|not (?:supported|allowed|valid|permitted|available|implemented)|(?:must|should) be|expected|(?:does not|doesn't|do not|cannot) (?:support|accept|match)/i;
const ONLY_FUNCTIONS =
  /\btools?\b.*(?:(?:must|should) be|only|expected)\W{0,8}(?:of type\W{0,3})?functions?\b|only\W{0,3}functions?\W{0,3}tools?\b/i;

/** Whether a backend rejects the namespaces of calls. */
export const isAboutNamespaces = ({ status, param, message }: Failure): boolean =>
  status === 400 &&
  /\bnamespace\b/.test(`${param ?? ''} ${message}`) &&
  // A rejection of a tool of that type is something else.
  !/^tools\b/.test(param ?? '') &&
  COMPLAINS.test(message);

/** Whether a conversation has tools that load late and whose form the client did not choose. */
const hasLateTools = (items: readonly Item[]): boolean =>
  itemFacts(items).hasLoadedTools &&
  items.some((item) => item.kind === 'loaded-tools' && item.isOurs === true);

/** Whether a backend rejects tools in the middle of a conversation. */
const isAboutLateTools = ({ status, param, message }: Failure): boolean =>
  status === 400 && /\badditional_tools\b/.test(`${param ?? ''} ${message}`);

/** The request formats of a ChatGPT login. */
export interface FormatChoice {
  readonly setting: 'auto' | RequestFormat;
  /** Whether codex itself uses the codex format for this model. */
  usesCodexFormat(model: string): boolean;
  /** The app-server's name of such a model in the Responses format. */
  responsesSlug(model: string): string;
}

export interface RequestStrategiesOptions {
  /** Null: the backend knows plain requests only. */
  readonly formats: FormatChoice | null;
  /** What requests can carry. */
  readonly carries: Pick<DriverTraits, 'instructionsField' | 'customTools' | 'bothFormats'>;
  /** What the backend was found to reject. */
  readonly refusals: Refusals;
  readonly clock: Clock;
  /** The backend rejected the one and accepted the other. */
  readonly onLearnt: (model: string, refused: RequestStrategy, taken: RequestStrategy) => void;
}

/** Model names and conversations come from clients, so their number is limited. */
const MAX_ANSWERED = 2_000;
const MAX_CONVERSATIONS = 10_000;
/** As long as a rejection is remembered. */
const ANSWERED_FOR_MS = 10 * 60_000;
/** A prompt cache does not live longer than this without being used. */
const CACHED_FOR_MS = 60 * 60_000;

/** Chooses how requests are written for the backend: by what codex would do, what a request needs, and what was learned. */
export class RequestStrategies {
  readonly #options: RequestStrategiesOptions;
  /** The request formats in which a model has answered: a rejection there has other reasons than the format. */
  readonly #answered: Recent<true>;
  /** A conversation keeps its request format: its prompt is cached there. */
  readonly #conversationFormats: Recent<RequestFormat>;

  constructor(options: RequestStrategiesOptions) {
    this.#options = options;
    this.#answered = new Recent(MAX_ANSWERED, ANSWERED_FOR_MS, options.clock);
    this.#conversationFormats = new Recent(MAX_CONVERSATIONS, CACHED_FOR_MS, options.clock);
  }

  first(turn: Turn): RequestStrategy {
    return this.#on(this.#formatFor(turn), turn, 'kept');
  }

  /** The strategy after a rejection that came before the answer; null: the client gets the rejection. */
  next(turn: Turn, tried: readonly RequestStrategy[], refusal: Failure): RequestStrategy | null {
    const { request } = turn;
    const last = tried.at(-1);
    if (last === undefined || tried.length >= MAX_STRATEGIES) return null;
    if (isUnreadable(refusal)) {
      const canGoWithout =
        last.reasoning === 'kept' && withoutReasoning(wholeHistory(request.items), () => true) !== null;
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
    if (last.namespaces === 'kept' && itemFacts(request.items).hasNamespace && isAboutNamespaces(refusal)) {
      return { ...last, namespaces: 'left-out' };
    }
    if (last.lateTools === 'in-place' && hasLateTools(request.items) && isAboutLateTools(refusal)) {
      return { ...last, lateTools: 'in-list' };
    }
    const requestFormat: RequestFormat = last.requestFormat === 'responses' ? 'codex' : 'responses';
    if (requestFormat === 'codex' && request.tools.some(isResponsesOnly)) return null;
    const isTried = tried.some((strategy) => strategy.requestFormat === requestFormat);
    const maySwitch = this.#hasBothFormats(request.model) && this.#options.formats?.setting === 'auto';
    if (isTried || !maySwitch || !isAboutFormat(refusal)) return null;
    const { reasoning, customTools, namespaces, lateTools } = last;
    return { ...this.#on(requestFormat, turn, reasoning), customTools, namespaces, lateTools };
  }

  /** The refusal for the caller. In one case the words of the backend do not say what helps. */
  explained(refusal: Failure): Failure {
    if (this.#options.carries.instructionsField || !isAboutInstructions(refusal)) return refusal;
    return { ...refusal, message: `${refusal.message} ${ONLY_WITH_RELAY}` };
  }

  /** Learns from a turn: the last strategy was accepted, those before it were rejected. */
  worked(turn: Turn, tried: readonly RequestStrategy[]): void {
    const { request, context } = turn;
    const { refusals } = this.#options;
    const last = tried.at(-1);
    if (last === undefined) return;
    for (const refused of tried.slice(0, -1)) {
      if (refused.requestFormat !== last.requestFormat) {
        // One request must not disable a request format for all others.
        if (this.#answered.get(`${refused.requestFormat} ${request.model}`) !== undefined) continue;
        refusals.add(turn, `${refused.requestFormat} format`);
        refusals.remove(turn, `${last.requestFormat} format`);
      } else if (refused.instructions !== last.instructions) {
        refusals.add(turn, 'instructions field');
      }
      this.#options.onLearnt(request.model, refused, last);
    }
    if (tried.some(({ customTools }) => customTools !== last.customTools)) refusals.add(turn, 'custom tools');
    if (tried.some(({ namespaces }) => namespaces !== last.namespaces)) refusals.add(turn, 'namespaces');
    if (tried.some(({ lateTools }) => lateTools !== last.lateTools)) refusals.add(turn, 'late tools');
    if (!this.#hasBothFormats(request.model)) return;
    this.#answered.set(`${last.requestFormat} ${request.model}`, true);
    this.#conversationFormats.set(context.conversation, last.requestFormat);
  }

  #formatFor(turn: Turn): RequestFormat {
    const { request, context } = turn;
    const { formats, carries, refusals } = this.#options;
    if (formats === null || !formats.usesCodexFormat(request.model)) return 'responses';
    // The Responses format uses another model name, which the app-server does not know.
    if (!carries.bothFormats) return 'codex';
    if (formats.setting !== 'auto') return formats.setting;
    if (refusals.has(turn, 'codex format')) return 'responses';
    // A request that needs this format is tried again.
    const isNeeded =
      (request.isStrict === true && needsResponsesFormat(request)) || request.tools.some(isResponsesOnly);
    if (!isNeeded && refusals.has(turn, 'responses format')) return 'codex';
    return needsResponsesFormat(request)
      ? 'responses'
      : (this.#conversationFormats.get(context.conversation) ?? 'codex');
  }

  #on(requestFormat: RequestFormat, turn: Turn, reasoning: RequestStrategy['reasoning']): RequestStrategy {
    const { model } = turn.request;
    const { formats, carries, refusals } = this.#options;
    const hasOwnSlug = requestFormat === 'responses' && this.#hasBothFormats(model);
    const hasField = carries.instructionsField && !refusals.has(turn, 'instructions field');
    return {
      requestFormat,
      slug: hasOwnSlug ? (formats?.responsesSlug(model) ?? model) : model,
      instructions: requestFormat === 'codex' || !hasField ? 'message' : 'field',
      reasoning,
      customTools: carries.customTools && !refusals.has(turn, 'custom tools') ? 'native' : 'functions',
      namespaces: refusals.has(turn, 'namespaces') ? 'left-out' : 'kept',
      lateTools: refusals.has(turn, 'late tools') ? 'in-list' : 'in-place',
    };
  }

  #hasBothFormats(model: string): boolean {
    const { formats, carries } = this.#options;
    return carries.bothFormats && formats !== null && formats.usesCodexFormat(model);
  }
}

const ONLY_WITH_RELAY =
  '(This model needs instructions in a field that only the relay of this server can set, and the relay is off: see PROXY_WIRE.)';

/** Both request formats, instructions in both places, with and without reasoning, custom tools, namespaces, and late tools. */
const MAX_STRATEGIES = 8;

/** Whether the backend cannot decrypt reasoning, such as that of another account. */
export const isUnreadable = ({ code }: Failure): boolean => code === 'invalid_encrypted_content';

const isAboutInstructions = ({ status, message }: Failure): boolean =>
  status === 400 &&
  /\binstructions\b/i.test(message) &&
  /required|missing|not valid|invalid|un(?:supported|known|recognized)|not (?:supported|allowed)/i.test(
    message,
  );

/** A rejection with a specific code has another cause, unless its message is about the request format. */
const isAboutFormat = ({ kind, code, message }: Failure): boolean =>
  kind === 'invalid_prompt' &&
  (code === 'invalid_prompt' ||
    /tool.?choice|parallel_tool_calls|additional_tools|\bdetail\b|reasoning\.context|\blite\b/i.test(
      message,
    ));
