import { gatewayError } from '../canonical/failure/failure.ts';
import { valuesOf, type Config } from '../config/schema.ts';
import { NO_MCP } from '../engine/mcp/mcp-tools.ts';
import type { CaptureFiles } from '../http/exchange/trace-request.ts';
import { acceptConfigured, type ConfiguredKeys } from '../http/guards/authenticate.ts';
import type { Upgrades } from '../http/listen/upgrade.ts';
import type { Route } from '../http/route.ts';
import { mergeRows, type PlacedRow } from '../kit/collections/merge-rows.ts';
import type { Metrics } from '../observe/metrics.ts';
import { allObservers, type RequestObserver } from '../observe/request-observer.ts';
import { OPEN_GATE } from '../turns/turn-gate.ts';
import { NO_STATES } from '../turns/turn-state.ts';
import type { Core, Feature, Offers, OpenFeature, RouteRow } from './feature.ts';

/** For one part. Each has shorter limits of its own: this is for one that hangs. */
const CLOSE_LIMIT_MS = 30_000;
/** After the limit for requests, those that were ended still close what they have open. */
const DRAIN_GRACE_MS = 15_000;

/** Rejects if the work is not done in time. It goes on. */
const inTime = async (work: Promise<void> | void, ms: number, what: string): Promise<void> => {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`${what} takes more than ${ms / 1000} s`)), ms);
  try {
    await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
};

interface Drainable {
  readonly name: string;
  drain(timeoutMs: number): Promise<void>;
}

/** Lets running requests end. What does not end, or fails, must not keep the server open. */
export const drainAll = async (
  parts: readonly Drainable[],
  timeoutMs: number,
  onError: (error: unknown) => void,
): Promise<void> => {
  const ended = parts.map((part) =>
    inTime(part.drain(timeoutMs), timeoutMs + DRAIN_GRACE_MS, `draining ${part.name}`),
  );
  for (const result of await Promise.allSettled(ended))
    if (result.status === 'rejected') onError(result.reason);
};

interface Closable {
  close?(): Promise<void> | void;
}

/** What a start has opened. It is closed in reverse, also if the start fails. */
export class OpenParts {
  readonly #parts: (readonly [string, Closable])[] = [];
  readonly #onError: (error: unknown, name: string) => void;

  /** `onError` gets what a `close` throws; the other parts are closed nevertheless. */
  constructor(onError: (error: unknown, name: string) => void) {
    this.#onError = onError;
  }

  add<Part extends Closable>(name: string, part: Part): Part {
    this.#parts.push([name, part]);
    return part;
  }

  /** Closes each part once. */
  async close(): Promise<void> {
    for (let last = this.#parts.pop(); last !== undefined; last = this.#parts.pop()) {
      const [name, part] = last;
      try {
        await inTime(part.close?.(), CLOSE_LIMIT_MS, `closing ${name}`);
      } catch (error) {
        this.#onError(error, name);
      }
    }
  }
}

export interface OpenFeatures {
  /** Tells all of them about a request. */
  readonly observer: RequestObserver;
  /** Null: there are no WebSockets. */
  readonly upgrades: Upgrades | null;
  /** What is offered by all of them. */
  readonly offers: Offers;
  /** The routes of the server with those of the features at their places. */
  routesWith(routes: readonly Route[]): readonly Route[];
  start(): void;
  /** What may still run when the server stops. */
  readonly running: readonly Drainable[];
}

interface FeatureDeps {
  readonly config: Config;
  readonly metrics: Metrics;
  /** Closes what was opened. */
  readonly parts: OpenParts;
}

const NO_CAPTURES: CaptureFiles = {
  isAlways: false,
  open: () => null,
  read: () => Promise.resolve(null),
};

/** What there is without any feature: the keys of the configuration may do everything. */
const firstOffers = (configured: ConfiguredKeys): Offers => ({
  authenticate: acceptConfigured(configured),
  gate: OPEN_GATE,
  states: NO_STATES,
  background: null,
  isAdmin: () => true,
  keyName: () => null,
  limitsOf: () => Promise.resolve([]),
  workspacesOf: () => 'all',
  listWorkspaces: () => Promise.resolve([]),
  readChanges: () => Promise.reject(gatewayError('endpoint_not_supported')),
  captures: NO_CAPTURES,
  mcp: NO_MCP,
  aroundEngine: (engine) => engine,
  hasConsole: false,
  isPrivate: () => false,
});

/** Opens the features one after the other. Rejects if one of them cannot be opened. */
export const openFeatures = async (
  features: readonly Feature[],
  core: Core,
  { config, metrics, parts }: FeatureDeps,
): Promise<OpenFeatures> => {
  const opened: (readonly [Feature, OpenFeature])[] = [];
  const offers = firstOffers(core.configuredKeys);
  for (const one of features) {
    const settings = valuesOf(one.settings ?? {}, config);
    const running = parts.add(one.name, await one.open(core, { settings, metrics, offers }));
    opened.push([one, running]);
    Object.assign(offers, running.offers);
  }
  return {
    offers,
    observer: allObservers(
      opened.flatMap(([, { observer = [] }]) => observer),
      (err) => {
        metrics.observerErrors.inc();
        core.logger.error({ err }, 'observer of requests failed');
      },
    ),
    upgrades: opened.flatMap(([, { upgrades = [] }]) => upgrades)[0] ?? null,
    routesWith: (routes) =>
      mergeRoutes(
        routes,
        opened.map(([one, { routes: handlers }]) =>
          handlers === undefined ? {} : featureRoutes(one, handlers),
        ),
      ),
    start() {
      for (const [, running] of opened) running.start?.();
    },
    running: opened.map(([{ name }, feature]) => ({
      name,
      drain: async (timeoutMs) => feature.drain?.(timeoutMs),
    })),
  };
};

type FeatureRoute = Route & PlacedRow;

/** The routes of a feature, by method and path. */
export const featureRoutes = (
  { routes = {} }: Pick<Feature, 'routes'>,
  handlers: Readonly<Record<string, Route['handle']>>,
): Readonly<Record<string, FeatureRoute>> =>
  Object.fromEntries(
    Object.entries<RouteRow>(routes).map(([name, row]) => {
      const [method, path = ''] = name.split(' ');
      const handle = handlers[name] as Route['handle'];
      return [name, { ...row, method: method as Route['method'], path, handle }];
    }),
  );

export const mergeRoutes = (
  routes: readonly Route[],
  features: readonly Readonly<Record<string, FeatureRoute>>[],
): readonly Route[] =>
  Object.values(
    mergeRows(Object.fromEntries(routes.map((route) => [`${route.method} ${route.path}`, route])), features),
  );
