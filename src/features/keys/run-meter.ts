import type { Item, Part } from '../../canonical/request/item.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { encryptedTokens } from '../../canonical/tokens/countable.ts';
import { assertNever } from '../../kit/assert-never.ts';
import type { TurnObserver, TurnSummary } from '../../observe/observer.ts';
import { addSpent, NOTHING_SPENT, spentOf, type Expense } from './key-limits.ts';

export interface MeterOptions {
  /** The estimated input of a turn. */
  readonly inputTokens: number;
  /** How many of the turns have sent a model request so far. */
  readonly asked: () => number;
}

/** Adds up what the turns of a run use. */
export class RunMeter {
  readonly #options: MeterOptions;
  /** Of turns with a usage. */
  #reported: Expense = NOTHING_SPENT;
  /** The estimated output of turns without one. */
  readonly #unreported: number[] = [];
  /** What parts of the turns have used that are settled. */
  #settled: Expense = NOTHING_SPENT;
  /** By turns that run. */
  readonly #written = new Set<OutputCount>();
  #running = 0;
  #onIdle: (() => void) | null = null;

  constructor(options: MeterOptions) {
    this.#options = options;
  }

  /** Without the parts that are settled. A turn without a usage is estimated, if its model was asked. */
  get spent(): Expense {
    const { inputTokens, asked } = this.#options;
    const estimated = this.#unreported
      .toSorted((one, other) => other - one)
      .slice(0, Math.max(0, asked() - this.#reported.turns))
      .map((outputTokens) => ({ turns: 1, inputTokens, cachedInputTokens: 0, outputTokens }));
    return estimated.reduce(addSpent, without(this.#reported, this.#settled));
  }

  /** For one turn. */
  watch(): TurnObserver {
    const written: OutputCount = { chars: 0, hiddenTokens: 0 };
    let hasOutput = false;
    return {
      onStart: () => {
        this.#running += 1;
        this.#written.add(written);
      },
      onEvent(event) {
        if (event.type === 'item-started') hasOutput = true;
        else if (event.type === 'item-delta') written.chars += event.delta.length;
        else if (event.type === 'item-ended' && event.item.kind === 'reasoning')
          written.hiddenTokens += encryptedTokens(event.item.encryptedContent ?? '');
      },
      onEnd: ({ usage, ending }) => {
        if (usage !== null) this.#reported = addSpent(this.#reported, spentOf(usage));
        else if (hasOutput || !hasFailed(ending))
          this.#unreported.push(bytesToTokens(written.chars) + written.hiddenTokens);
        this.#running -= 1;
        this.#written.delete(written);
        this.#tellIdle();
      },
    };
  }

  /** A part of the only turn has ended. What it has used is settled by itself: call the result with it. */
  endPart(): (used: Expense) => void {
    for (const written of this.#written) Object.assign(written, { chars: 0, hiddenTokens: 0 });
    return (used) => {
      this.#settled = addSpent(this.#settled, used);
    };
  }

  /** Calls the function when no turn runs, at once or later. */
  whenIdle(onIdle: () => void): void {
    this.#onIdle = onIdle;
    this.#tellIdle();
  }

  #tellIdle(): void {
    if (this.#running > 0 || this.#onIdle === null) return;
    this.#onIdle();
    this.#onIdle = null;
  }
}

/** What a turn has written so far, of its last part. */
interface OutputCount {
  chars: number;
  hiddenTokens: number;
}

/** The turns are those of the last parts. */
const without = (all: Expense, settled: Expense): Expense => ({
  turns: all.turns,
  inputTokens: Math.max(0, all.inputTokens - settled.inputTokens),
  cachedInputTokens: Math.max(0, all.cachedInputTokens - settled.cachedInputTokens),
  outputTokens: Math.max(0, all.outputTokens - settled.outputTokens),
});

/** A turn that failed before its answer began costs nothing. */
const hasFailed = (ending: TurnSummary['ending']): boolean =>
  ending.kind === 'thrown' || (ending.kind === 'ended' && ending.outcome.kind === 'failed');

/** Most texts have more bytes for a token; Chinese and Japanese have about these. */
const BYTES_PER_TOKEN = 3;
/** About 1,024 × 1,024 pixels. */
const IMAGE_TOKENS = 1_100;
/** Of base64, which has four characters for three bytes of text. */
const FILE_CHARS_PER_TOKEN = 4;
const PDF = 'data:application/pdf';
/** A page has far more. */
const PDF_CHARS_PER_TOKEN = 16;
const AUDIO_CHARS_PER_TOKEN = 2_000;

/** The output of a turn whose request has no limit. */
export const OUTPUT_ESTIMATE = 4_096;

/**
 * A cheap estimate of the input tokens of a request with a body of so many bytes, all turns together. It is rather too
 * high: it is replaced by the real usage.
 */
export const estimateInput = (requests: readonly TurnRequest[], bytes: number): number => {
  const attached: AttachmentCount = { chars: 0, tokens: 0 };
  for (const { items } of requests) for (const item of items) addItem(item, attached);
  return bytesToTokens(Math.max(bytes - attached.chars, 0)) + attached.tokens;
};

/** An estimate for text. */
export const bytesToTokens = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN);

/** How much of the body images, files and audio are, and what they cost instead. */
interface AttachmentCount {
  chars: number;
  tokens: number;
}

const addItem = (item: Item, attached: AttachmentCount): void => {
  if (item.kind === 'message') for (const part of item.parts) addPart(part, attached);
  if (item.kind !== 'tool-output' || typeof item.output === 'string') return;
  for (const part of item.output) addPart(part, attached);
};

const addPart = (part: Part, attached: AttachmentCount): void => {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return;
    case 'image':
      attached.chars += part.url.length;
      attached.tokens += IMAGE_TOKENS;
      return;
    case 'audio':
      attached.chars += part.data.length;
      attached.tokens += Math.ceil(part.data.length / AUDIO_CHARS_PER_TOKEN);
      return;
    case 'file': {
      const { file_data: given } = part.raw;
      const data = typeof given === 'string' ? given : '';
      const perToken = data.startsWith(PDF) ? PDF_CHARS_PER_TOKEN : FILE_CHARS_PER_TOKEN;
      attached.chars += data.length;
      attached.tokens += Math.max(Math.ceil(data.length / perToken), IMAGE_TOKENS);
      return;
    }
    default:
      assertNever(part);
  }
};
