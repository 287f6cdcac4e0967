import { memoryLimits } from './limit-store.ts';
import { failureOf, gatewayError, type Failure } from '../../src/canonical/failure/failure.ts';
import type { Usage } from '../../src/canonical/events/usage.ts';
import { PLAIN_REQUEST, type TurnRequest } from '../../src/canonical/request/turn-request.ts';
import { KeyGate } from '../../src/features/keys/key-gate.ts';
import type { ApiKey, KeyLimit } from '../../src/features/keys/key.ts';
import { readLimitStatus } from '../../src/features/keys/key-limits.ts';
import { Reservations } from '../../src/features/keys/reservations.ts';
import type { TurnEnding } from '../../src/observe/observer.ts';
import type { LimitStore } from '../../src/features/keys/limit-store.ts';
import type { GateAsk, GatePass } from '../../src/turns/turn-gate.ts';

export const KEY: ApiKey = {
  id: 'key_a',
  name: 'a',
  note: '',
  hint: '',
  scopes: ['infer'],
  models: [],
  workspaces: [],
  effort: null,
  addresses: [],
  concurrency: null,
  limits: [],
  storageMb: null,
  expiresAt: null,
  createdAt: 0,
  pausedAt: null,
  revokedAt: null,
  lastUsedAt: null,
};

export const NOW = Date.parse('2026-11-17T12:00:30.000Z');

/** A gate for one key. */
export interface GateHarness {
  readonly gate: KeyGate;
  /** Changes the policy of the key. */
  change(policy: Partial<ApiKey>): void;
  readonly clock: { time: number; now(): number };
  readonly store: LimitStore;
  /** Codes of refusals. */
  readonly refused: string[];
  readonly unsettled: unknown[];
  /** Waits until everything is settled. */
  settled(): Promise<void>;
  /** What the key has used of each of its limits. */
  used(): Promise<readonly number[]>;
}

export const openGate = async (
  policy: Partial<ApiKey>,
  change: (store: LimitStore) => LimitStore = (store) => store,
): Promise<GateHarness> => {
  let key: ApiKey = { ...KEY, ...policy };
  const clock = { time: NOW, now: () => clock.time };
  const store = await memoryLimits(clock);
  const refused: string[] = [];
  const unsettled: unknown[] = [];
  let minted = 0;
  const reservations = new Reservations({
    store: change(store),
    ambient: { clock, ids: { mint: (prefix) => `${prefix}_${(minted += 1)}` } },
    onUnsettled: (error) => unsettled.push(error),
  });
  const gate = new KeyGate({
    directory: {
      byId: (id) => (id === key.id ? key : null),
      refusalOf: () => (key.revokedAt === null ? null : gatewayError('invalid_api_key')),
    },
    reservations,
    storage: null,
    prices: { 'gpt-5*': { input: 2, cachedInput: 1, output: 10 } },
    modelInfo: () => Promise.resolve(null),
    onRefused: (code) => refused.push(code),
  });
  return {
    gate,
    change(changed) {
      key = { ...key, ...changed };
    },
    clock,
    store,
    refused,
    unsettled,
    settled: () => reservations.close(),
    used: async () => (await readLimitStatus(key, store)).map((status) => status.used),
  };
};

export const limitOf = (different: Partial<KeyLimit> = {}): KeyLimit => ({
  unit: 'tokens',
  window: 'minute',
  max: 1_000,
  model: null,
  ...different,
});

/** 100 tokens of output at most. */
export const requestOf = (different: Partial<TurnRequest> = {}): TurnRequest => ({
  ...PLAIN_REQUEST,
  model: 'gpt-5.2',
  items: [],
  maxOutputTokens: 100,
  ...different,
});

/** 100 tokens of input, as they are estimated. */
export const askOf = (different: Partial<GateAsk> = {}): GateAsk => ({
  caller: KEY.id,
  requests: [requestOf()],
  choices: 1,
  bytes: 300,
  asked: () => Infinity,
  isKept: true,
  signal: new AbortController().signal,
  nameOf: (path) => (typeof path === 'string' ? path : '?'),
  ...different,
});

const COMPLETED: TurnEnding = { kind: 'ended', outcome: { kind: 'completed' } };
export const FAILED: TurnEnding = {
  kind: 'ended',
  outcome: { kind: 'failed', failure: failureOf(gatewayError('upstream_error')) },
};

/** A turn from its start to its end. */
export const runTurn = (pass: GatePass, usage: Usage | null, ending: TurnEnding = COMPLETED): void => {
  const turn = pass.watch();
  turn.onStart?.();
  turn.onEnd?.({ ending, usage, firstEventMs: 0, durationMs: 0 });
};

export const failureFrom = (doing: Promise<unknown>): Promise<Failure> =>
  doing.then(
    () => Promise.reject(new Error('it was not refused')),
    (error: unknown) => failureOf(error),
  );
