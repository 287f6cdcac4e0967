import { gatewayError, type GatewayError } from '../../canonical/failure/failure.ts';
import type { OutputFormat } from '../../canonical/request/turn-request.ts';
import type { Clock } from '../../kit/ambient.ts';
import { assertNever } from '../../kit/assert-never.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import { isLongerThan } from '../../kit/json/json-writer.ts';
import { Recent } from '../../kit/collections/recent.ts';
import {
  besideModule,
  createThreadPool,
  type GiveUpReason,
  type ThreadTimes,
} from '../../threads/thread-pool.ts';
import { answerText } from '../../canonical/request/item.ts';
import type { TurnObserver } from '../../observe/observer.ts';
import type { FormatJob, FormatVerdict } from './format-schema.ts';

/** Whether a finished answer matches the requested format; null: unknown. */
type FormatCheck = (text: string) => Promise<boolean | null>;

export interface FormatChecks {
  /** Null when there is nothing to check. Throws if the schema is invalid. */
  of(format: OutputFormat, place: string, caller: string): Promise<FormatCheck | null>;
  /** Why a text is not JSON matching this schema; null: it is, or unknown. */
  problemWith(text: string, schema: JsonObject, caller: string): Promise<string | null>;
  close(): Promise<void>;
}

/** Why answers go unchecked. */
export type Unchecked = GiveUpReason | 'too_large' | 'unknown';

export interface FormatChecksOptions {
  readonly clock: Clock;
  readonly onUnchecked: (reason: Unchecked) => void;
  /** For one schema, and for one answer, where they differ from the usual ones. */
  readonly times?: Partial<ThreadTimes>;
}

/** Larger than any realistic schema; answers to larger ones go unchecked. */
const MAX_SCHEMA_CHARS = 256 * 1024;
/** Verdicts kept. They expire, because a timeout may have been due to load. */
const MAX_KNOWN = 100;
const KNOWN_FOR_MS = 10 * 60_000;

const ANY_OBJECT = '{"type":"object"}';

type Known = Extract<FormatVerdict, { kind: 'sound' | 'unsound' | 'unknown' }> | { readonly kind: 'late' };

/** Compiles schemas and validates answers in worker threads, because schemas are untrusted and may run for ever. */
export const createFormatChecks = (options: FormatChecksOptions): FormatChecks => {
  const pool = createThreadPool<FormatJob, FormatVerdict>({
    file: besideModule(import.meta.url, 'format-thread'),
    // One key uses at most two of them.
    threads: 3,
    timeoutMs: 1_000,
    waitMs: 3_000,
    maxWaiting: 64,
    ...options.times,
  });
  const known = new Recent<Known>(MAX_KNOWN, KNOWN_FOR_MS, options.clock);
  const unchecked = (reason: Unchecked): null => {
    options.onUnchecked(reason);
    return null;
  };

  /** Null: not checked this time. */
  const judge = async (schema: string, caller: string): Promise<Known | null> => {
    const outcome = await pool.run({ schema, answer: null }, caller);
    if (outcome.kind === 'done') {
      if (outcome.result.kind === 'answered') return null;
      known.set(schema, outcome.result);
      return outcome.result;
    }
    // It would time out again.
    if (outcome.reason === 'late') known.set(schema, { kind: 'late' });
    return unchecked(outcome.reason);
  };

  /** Null: unknown. */
  const answered = async (
    schema: string,
    answer: string,
    caller: string,
  ): Promise<Extract<FormatVerdict, { kind: 'answered' }> | null> => {
    const outcome = await pool.run({ schema, answer }, caller);
    if (outcome.kind === 'given-up') return unchecked(outcome.reason);
    return outcome.result.kind === 'answered' ? outcome.result : null;
  };

  const checkOf =
    (schema: string, caller: string): FormatCheck =>
    async (answer) => {
      const verdict = await answered(schema, answer, caller);
      return verdict === null ? null : verdict.problem === null;
    };

  return {
    async of(format, place, caller) {
      if (format.kind === 'text') return null;
      // Also in a thread: an answer may be megabytes long.
      if (format.kind === 'json-object') return checkOf(ANY_OBJECT, caller);
      if (isLongerThan(format.schema, MAX_SCHEMA_CHARS)) return unchecked('too_large');
      const schema = JSON.stringify(format.schema);
      const before = known.get(schema);
      const verdict = before ?? (await judge(schema, caller));
      switch (verdict?.kind) {
        case 'sound':
          return checkOf(schema, caller);
        case 'unsound':
          throw unsound(format.name, verdict.message, place);
        case 'unknown':
          return unchecked('unknown');
        case 'late':
          return before === undefined ? null : unchecked('late');
        case undefined:
          return null;
        default:
          return assertNever(verdict);
      }
    },
    async problemWith(text, schema, caller) {
      if (isLongerThan(schema, MAX_SCHEMA_CHARS)) return unchecked('too_large');
      const key = JSON.stringify(schema);
      const verdict = known.get(key) ?? (await judge(key, caller));
      if (verdict?.kind !== 'sound') return null;
      return (await answered(key, text, caller))?.problem ?? null;
    },
    close: () => pool.close(),
  };
};

const unsound = (name: string, message: string, param: string): GatewayError =>
  gatewayError('invalid_value', {
    param,
    code: 'invalid_json_schema',
    message: `Invalid schema for response format '${name}': ${message}.`,
  });

/** Reports answers that violate their format. The check runs after the answer and delays nothing. */
export const formatObserver = (
  keepsFormat: FormatCheck | null,
  onMismatch: () => void,
): readonly TurnObserver[] => {
  if (keepsFormat === null) return [];
  let text = '';
  return [
    {
      onEvent(event) {
        if (event.type === 'item-ended') text += answerText(event.item);
        if (event.type !== 'turn-ended' || event.outcome.kind !== 'completed') return;
        void keepsFormat(text).then((kept) => kept === false && onMismatch());
      },
    },
  ];
};
