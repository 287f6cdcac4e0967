import type { GatewayError } from '../../canonical/failure/failure.ts';
import type { Effort } from '../../canonical/models/model-names.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import type { KeyRow } from './store.ts';
import type { Scope } from '../../http/guards/scopes.ts';

export const LIMIT_UNITS = ['tokens', 'requests', 'cost'] as const;
export const LIMIT_WINDOWS = ['minute', '5h', 'day', '7d', 'month'] as const;

/** How much a key may use within a period. */
export interface KeyLimit {
  readonly unit: (typeof LIMIT_UNITS)[number];
  readonly window: (typeof LIMIT_WINDOWS)[number];
  readonly max: number;
  /** For the models that match this pattern together, in which `*` matches anything; null: for all models together. */
  readonly model: string | null;
}

/** What a named key may do, as its administrator chose it. */
/** The models that a key may use. */
export interface ModelAccess {
  /** Patterns of model names, in which `*` matches anything; empty: all models. */
  readonly models: readonly string[];
}

export interface KeyPolicy extends ModelAccess {
  /** Patterns of the names of workspaces, in which `*` matches anything; empty: none. */
  readonly workspaces: readonly string[];
  readonly name: string;
  /** For people, such as who has the key; may be empty. */
  readonly note: string;
  readonly scopes: readonly Scope[];
  /** The highest reasoning effort; null: any. */
  readonly effort: Effort | null;
  /** Addresses of clients in CIDR form; empty: any address. */
  readonly addresses: readonly string[];
  /** How many of its turns run at the same time; null: only the limit of the server. */
  readonly concurrency: number | null;
  readonly limits: readonly KeyLimit[];
  /** How many MB are kept for it; 0: no limit; null: the limit of the server. */
  readonly storageMb: number | null;
  /** Milliseconds since the Unix epoch, like all times here; null: never. */
  readonly expiresAt: number | null;
}

/** A named key, without its secrets. */
export interface ApiKey extends KeyPolicy {
  /** Random, and the same after a rotation: everything that is stored for the key belongs to it. */
  readonly id: string;
  /** The ends of the newest secret, such as `sk-proxy-…ab12`. */
  readonly hint: string;
  readonly createdAt: number;
  readonly pausedAt: number | null;
  readonly revokedAt: number | null;
  /** Up to a minute old. */
  readonly lastUsedAt: number | null;
}

/** More are not kept, so that all of them fit into memory. */
export const MAX_KEYS = 10_000;

export type KeyStatus = 'active' | 'paused' | 'expired' | 'revoked';

/** Whether the key can be used at this time, or the strongest reason why not. */
export const statusOf = (
  { revokedAt, expiresAt, pausedAt }: Pick<ApiKey, 'revokedAt' | 'expiresAt' | 'pausedAt'>,
  now: number,
): KeyStatus => {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt !== null && expiresAt <= now) return 'expired';
  return pausedAt === null ? 'active' : 'paused';
};

/** The part of a policy that the database keeps as one text. */
type KeyBody = Omit<KeyPolicy, 'expiresAt'>;

export const bodyOf = ({
  name,
  note,
  scopes,
  models,
  workspaces,
  effort,
  addresses,
  concurrency,
  limits,
  storageMb,
}: KeyPolicy): string =>
  JSON.stringify({
    name,
    note,
    scopes,
    models,
    workspaces,
    effort,
    addresses,
    concurrency,
    limits,
    storageMb,
  } satisfies KeyBody);

/** Fields that bodies of earlier versions lack. */
const LATER = { storageMb: null, workspaces: [] } satisfies Partial<KeyBody>;

/** Bodies were checked before they were written. */
export const keyOfRow = (row: KeyRow): ApiKey => ({
  ...LATER,
  ...(JSON.parse(row.body) as KeyBody),
  id: row.id,
  hint: row.hint,
  createdAt: row.createdAt,
  expiresAt: row.expiresAt,
  pausedAt: row.pausedAt,
  revokedAt: row.revokedAt,
  lastUsedAt: row.lastUsedAt,
});

/** A key as JSON, over HTTP and on the command line. Times are in seconds, as in OpenAI's API. */
export const projectKey = (key: ApiKey, now: number): JsonObject => ({
  object: 'codex.key',
  id: key.id,
  name: key.name,
  note: key.note,
  hint: key.hint,
  scopes: key.scopes,
  models: key.models,
  workspaces: key.workspaces,
  effort: key.effort,
  addresses: key.addresses,
  concurrency: key.concurrency,
  limits: key.limits.map(({ unit, window, max, model }) => ({ unit, window, max, model })),
  storage_mb: key.storageMb,
  status: statusOf(key, now),
  created_at: seconds(key.createdAt),
  expires_at: key.expiresAt === null ? null : seconds(key.expiresAt),
  last_used_at: key.lastUsedAt === null ? null : seconds(key.lastUsedAt),
});

const seconds = (ms: number): number => Math.floor(ms / 1000);

/** The named keys, from memory: every turn asks, also one of an open WebSocket and of a background response. */
export interface KeyDirectory {
  /** Null: a key of the configuration, which has no policy. */
  byId(keyId: string): ApiKey | null;
  /** Why the key runs no turn now: it was revoked or paused, or has expired. Null: it may. */
  refusalOf(keyId: string): GatewayError | null;
}

/** Without a store there are only keys of the configuration. */
export const NO_NAMED_KEYS: KeyDirectory = { byId: () => null, refusalOf: () => null };
