import { errorSourceOf, type ErrorSource } from '../canonical/failure/error-source.ts';
import { failureIn, type AccessFacts } from '../observe/access-log.ts';
import type { UsageCounts } from '../store/ports/usage.ts';

export const NO_USAGE: UsageCounts = {
  requests: 0,
  clientErrors: 0,
  limitErrors: 0,
  upstreamErrors: 0,
  serverErrors: 0,
  cancelled: 0,
  inputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  imageInputTokens: 0,
  imageOutputTokens: 0,
  durationMs: 0,
};

const NAMES = Object.keys(NO_USAGE) as (keyof UsageCounts)[];

export const addCounts = (a: UsageCounts, b: UsageCounts): UsageCounts =>
  Object.fromEntries(NAMES.map((name) => [name, a[name] + b[name]])) as Record<keyof UsageCounts, number>;

/** For the log only: the client has disconnected. */
const CLIENT_GONE = 499;

type ErrorKind = 'clientErrors' | 'limitErrors' | 'upstreamErrors' | 'serverErrors' | 'cancelled';

/** The request log names the same source. */
const KINDS: Readonly<Record<ErrorSource, ErrorKind>> = {
  client: 'clientErrors',
  key: 'clientErrors',
  server: 'serverErrors',
  account: 'upstreamErrors',
  backend: 'upstreamErrors',
};

/** Null: it was answered. */
const errorKind = (facts: AccessFacts): ErrorKind | null => {
  const failed = failureIn(facts);
  if (failed !== null) return failed.status === 429 ? 'limitErrors' : KINDS[errorSourceOf(failed)];
  // A client disconnects before the answer, or during it. A background response without a turn was cancelled while it waited.
  const ending = facts.turn?.ending;
  if (facts.status === CLIENT_GONE || ending === undefined || ending.kind === 'abandoned') return 'cancelled';
  return null;
};

/** Whether the answer came, be it incomplete. */
export const isAnswered = (facts: AccessFacts): boolean =>
  facts.turn?.ending.kind === 'ended' && errorKind(facts) === null;

/** Whether a request ran a turn or failed to. One that only started a background response did neither. */
export const isCounted = ({ status, failure, turn }: AccessFacts): boolean =>
  turn != null || failure != null || status === CLIENT_GONE;

/** What one request of a turn used. */
export const countsOf = (facts: AccessFacts): UsageCounts => {
  const kind = errorKind(facts);
  const usage = facts.turn?.usage ?? null;
  return {
    ...NO_USAGE,
    requests: 1,
    ...(kind === null ? {} : { [kind]: 1 }),
    ...(usage === null
      ? {}
      : {
          inputTokens: usage.inputTokens,
          cachedTokens: usage.cachedInputTokens,
          cacheWriteTokens: usage.cacheWriteInputTokens,
          outputTokens: usage.outputTokens,
          reasoningTokens: usage.reasoningTokens,
          imageInputTokens: usage.images?.input.tokens ?? 0,
          imageOutputTokens: usage.images?.output.tokens ?? 0,
        }),
    durationMs: isAnswered(facts) ? facts.durationMs : 0,
  };
};
