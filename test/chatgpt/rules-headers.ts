import type { IncomingHttpHeaders } from 'node:http';

import { isJsonObject } from '../../src/kit/json/json.ts';
import { detail, firstAnswer } from './rule.ts';
import type { Carrier, Rule, Seen } from './rule.ts';

const FORWARDED = /^(cf-|x-forwarded-|forwarded$|x-real-ip$|via$|true-client-ip$)/;

/** Some time before these models existed: a made-up timestamp is usually far off. */
const EARLIEST_MS = Date.UTC(2025, 0);
const CLOCK_SKEW_MS = 60_000;

const UUID_V7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

/** A UUIDv7 with a plausible time. */
export const isRealUuidV7 = (id: unknown, now = Date.now()): boolean => {
  if (typeof id !== 'string' || !UUID_V7.test(id)) return false;
  const time = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  return time >= EARLIEST_MS && time <= now + CLOCK_SKEW_MS;
};

const numbersOf = (version: string): readonly number[] =>
  version.split(/[.-]/, 3).map((part) => Number.parseInt(part, 10) || 0);

const isOlder = (version: string, than: string): boolean => {
  const [left, right] = [numbersOf(version), numbersOf(than)];
  const index = right.findIndex((number, at) => number !== (left[at] ?? 0));
  return index !== -1 && (left[index] ?? 0) < (right[index] ?? 0);
};

/** The turn that a request names. */
export const turnOf = (headers: IncomingHttpHeaders): string => {
  const session = String(headers['session-id'] ?? '');
  try {
    const metadata: unknown = JSON.parse(String(headers['x-codex-turn-metadata']));
    if (isJsonObject(metadata) && typeof metadata['turn_id'] === 'string')
      return `${session} ${metadata['turn_id']}`;
  } catch {
    // Fall back to the session.
  }
  return session;
};

const ALL: readonly Carrier[] = ['post', 'upgrade', 'frame'];
/** Headers that a frame does not have: its upgrade had them. */
const HEADS: readonly Carrier[] = ['post', 'upgrade'];

const cacheIdentity = (name: string, on: readonly Carrier[], read: (seen: Seen) => unknown): Rule => ({
  id: `identity.${name}`,
  confidence: 'C',
  requestFormat: 'both',
  on,
  breaks: (seen) => (isRealUuidV7(read(seen)) ? null : 'counted'),
});

export const HEADER_RULES: readonly Rule[] = [
  {
    id: 'header.authorization',
    confidence: 'A',
    requestFormat: 'both',
    on: HEADS,
    breaks: ({ headers }) =>
      /^(?:Bearer|AgentAssertion) \S+$/.test(headers.authorization ?? '')
        ? null
        : detail('Unauthorized', 401),
  },
  {
    id: 'header.chatgpt-account-id',
    confidence: 'A',
    requestFormat: 'both',
    on: HEADS,
    breaks: ({ headers }) =>
      (headers['chatgpt-account-id'] ?? '') === '' ? detail('Unauthorized', 401) : null,
  },
  {
    id: 'header.version.missing',
    confidence: 'A',
    requestFormat: 'both',
    breaks: ({ headers }) => (headers['version'] === undefined ? detail('Model not found', 404) : null),
  },
  {
    id: 'header.version.old',
    confidence: 'A',
    requestFormat: 'both',
    breaks: ({ headers, settings, model }) =>
      typeof headers['version'] === 'string' && isOlder(headers['version'], settings.oldestVersion)
        ? detail(
            `The '${model}' model requires a newer version of Codex. Please upgrade to the latest app or CLI and try again.`,
          )
        : null,
  },
  {
    id: 'header.forwarded',
    confidence: 'B',
    requestFormat: 'both',
    on: HEADS,
    breaks: ({ headers }) =>
      firstAnswer(Object.keys(headers), (name) => (FORWARDED.test(name) ? 'counted' : null)),
  },
  {
    id: 'header.x-codex-turn-state',
    confidence: 'B',
    requestFormat: 'both',
    breaks: ({ headers, memory }) => {
      const state = headers['x-codex-turn-state'];
      if (state === undefined) return null;
      const issuedTo = memory.turnStates.get(String(state));
      // codex takes the state of its warm-up, which is before any turn, into the first turn.
      const warmUp = `${String(headers['session-id'])} `;
      return issuedTo === turnOf(headers) || issuedTo === warmUp ? null : 'counted';
    },
  },
  cacheIdentity('session-id', ALL, ({ headers }) => headers['session-id']),
  cacheIdentity('thread-id', ALL, ({ headers }) => headers['thread-id']),
  cacheIdentity('prompt_cache_key', ['post', 'frame'], ({ body }) => body['prompt_cache_key']),
];
