import type { AccessFacts } from '../observe/access-log.ts';
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

/** How a request ended. `status`: of the answer, or of the failure that ended a stream with the status 200. */
interface End {
  readonly status: number;
  /** The error's row in the catalogue, as far as it is known. */
  readonly kind: string | null;
}

const endOf = ({ status, errorCode = null, turn }: AccessFacts): End => {
  const ending = turn?.ending;
  if (ending?.kind === 'thrown') return ending.failure;
  if (ending?.kind === 'ended' && ending.outcome.kind === 'failed') return ending.outcome.failure;
  if (status >= 400) return { status, kind: errorCode };
  // With an error, this server stopped reading; without one, the client disconnected or cancelled.
  if (errorCode !== null) return { status: 500, kind: errorCode };
  // Without a turn it was a background response that was cancelled before it could run.
  return ending === undefined || ending.kind === 'abandoned'
    ? { status: CLIENT_GONE, kind: null }
    : { status, kind: null };
};

type ErrorKind = 'clientErrors' | 'limitErrors' | 'upstreamErrors' | 'serverErrors' | 'cancelled';

/** Null: it was answered. */
const errorKind = ({ status, kind }: End): ErrorKind | null => {
  if (status < 400) return null;
  if (status === 429) return 'limitErrors';
  if (status === CLIENT_GONE) return 'cancelled';
  if (kind?.startsWith('upstream_') === true) return 'upstreamErrors';
  if (status < 500) return 'clientErrors';
  // This server's own failures have these two.
  return status === 500 || status === 503 ? 'serverErrors' : 'upstreamErrors';
};

/** Whether the answer came, be it incomplete. */
export const isAnswered = (facts: AccessFacts): boolean =>
  facts.turn?.ending.kind === 'ended' && errorKind(endOf(facts)) === null;

/** Whether a request ran a turn or failed to. One that only started a background response did neither. */
export const isCounted = ({ status, errorCode, turn }: AccessFacts): boolean =>
  turn != null || status >= 400 || errorCode != null;

/** What one request of a turn used. */
export const countsOf = (facts: AccessFacts): UsageCounts => {
  const kind = errorKind(endOf(facts));
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
