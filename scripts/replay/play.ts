import { join } from 'node:path';

import type { Item } from '../../src/canonical/request/item.ts';
import {
  createModelNames,
  type ModelInfo,
  type ModelNames,
  type ResolvedModel,
} from '../../src/canonical/models/model-names.ts';
import type { OpenRecorder } from '../../src/canonical/context/trace.ts';
import { profileOf } from '../../src/codex/capabilities/profile.ts';
import { directLogin, type BackendTarget } from '../../src/codex/home/backend.ts';
import { Refusals } from '../../src/codex/capabilities/refusals.ts';
import { wholeHistory, type History } from '../../src/codex/translate/fit-history.ts';
import { loadConfig } from '../../src/compose/features.ts';
import type { Config } from '../../src/config/schema.ts';
import { UnreadTotal } from '../../src/engine/attempt/unread-total.ts';
import { atCodexPaths } from '../../src/http/codex/own-paths.ts';
import { createFormatChecks } from '../../src/turns/format/check-format.ts';
import { openExchange } from '../../src/http/exchange/exchange.ts';
import { OPEN_GATE } from '../../src/turns/turn-gate.ts';
import { serveTurn } from '../../src/http/turn/serve-turn.ts';
import type { FetchImage } from '../../src/turns/attachments/fetch-image.ts';
import { atOnce } from '../../src/kit/async/event-loop.ts';
import { listIn, textIn, type JsonObject } from '../../src/kit/json/json.ts';
import { playedSigner } from './played-signer.ts';
import { systemAmbient } from '../../src/kit/ambient.ts';
import { ReasoningOrigins } from '../../src/engine/memory/reasoning-origins.ts';
import { within } from '../../src/kit/async/wait.ts';
import { createLogger } from '../../src/observe/log.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import { createThreadedGuide } from '../../src/schemas/threaded-guide.ts';
import { apisOf } from '../../src/compose/endpoints.ts';
import { bodyDeps, runDeps, turnSettings } from '../../src/compose/core.ts';
import { engineOf, type EngineParts, wiringOf, driverDeps } from '../../src/compose/backend.ts';
import { cleaner } from '../../src/features/captures/redacted.ts';
import { createThreadedTokenizer } from '../../src/tokenizer/threaded-tokenizer.ts';
import { playedPool } from './played-pool.ts';
import { playedRelay } from './played-relay.ts';
import type { LoadedItems } from '../../src/turns/api.ts';
import { factsOf, objectIn, type TraceRecord } from './read-capture.ts';

/** Limit for an answer that does not end, because the capture is truncated or the code has changed. */
const MAX_MS = 20_000;

/**
 * Replays a capture: the client's request passes through the current parsers, engine and relay edits, and the recorded
 * output of the app-server and the backend through the current readers and renderers. Starts no process and sends
 * nothing. Returns the capture as it would be written now.
 */
export const play = async (trace: readonly TraceRecord[]): Promise<readonly TraceRecord[]> => {
  const record: TraceRecord[] = [];
  const clean = cleaner([]);
  let numbers = 0;
  const now: OpenRecorder = {
    isRecording: true,
    record: (kind, facts) => {
      // Serialised like in a file.
      record.push({ kind, facts: JSON.parse(JSON.stringify(atOnce(clean(facts)))) as JsonObject });
    },
    next: () => (numbers += 1),
    end: async () => {},
  };
  const config = configOf(trace);
  const logger = createLogger({ level: 'silent', secrets: [], destination: { write: () => true } });
  const metrics = createMetrics();
  const tokenizer = createThreadedTokenizer({ onGuess() {} });
  const guide = createThreadedGuide({ clock: systemAmbient.clock, onUnexplained() {} });
  const formats = createFormatChecks({ clock: systemAmbient.clock, onUnchecked() {} });
  const body = factsOf(trace, 'body');
  const asked = factsOf(trace, 'asked');
  const apis = apisOf(config, metrics, { tokenizer, signer: playedSigner });
  const api = [...apis, ...atCodexPaths(apis)].find(({ path }) => path === asked['path']);
  if (api === undefined) throw new Error(`there is no endpoint ${textIn(asked, 'path')} that runs turns`);
  const images = trace.filter(({ kind }) => kind === 'fetched').map(({ facts }) => facts);
  const loaded = loadedIn(trace);
  const gone = new AbortController();
  const ended = Promise.withResolvers<void>();
  const exchange = openExchange({
    distributed: null,
    requestId: 'replay',
    startedAt: systemAmbient.clock.now(),
    address: '',
    isLocal: () => false,
    clientSignal: gone.signal,
    onNote() {},
    onEnd: () => ended.resolve(),
  });
  const http = new Request(`http://localhost${api.path}`, {
    method: 'POST',
    body: JSON.stringify(body['body']),
    headers: headersOf(objectIn(asked, 'head')),
  });
  const engine = engineOf(...enginePartsOf(trace, config, { logger, metrics, tokenizer, guide }));
  const models = { names: async () => namesOf(objectIn(body, 'models'), config.clients) };
  const runs = runDeps(config, {
    logger,
    metrics,
    isAdmin: () => true,
    observers: [],
    engine,
    gate: OPEN_GATE,
    models,
    tokens: tokenizer,
    formats,
  });
  const fetchImage: FetchImage = async (url) =>
    textIn(images.find((one) => one['url'] === url) ?? {}, 'image');
  const serve = serveTurn(api, {
    ...bodyDeps(config, metrics),
    ...turnSettings(config, { logger, metrics }),
    models,
    runs: { ...runs, images: { ...runs.images, fetch: fetchImage } },
    captures: { open: () => ({ ...now, name: '' }) },
    background: null,
    // A captured body has them already.
    readChanges: () => Promise.reject(new Error('there is no workspace')),
    states: {
      open: async () => ({
        loaded,
        cacheKey: null,
        isKept: () => false,
        record: async () => true,
        release() {},
      }),
    },
  });
  try {
    const answer = serve(http, exchange).then(
      (response) => response.text(),
      () => '',
    );
    const isWhole = (await within(answer, MAX_MS)) !== null;
    exchange.returned();
    if (isWhole) await within(ended.promise, MAX_MS);
    else gone.abort();
    return record;
  } finally {
    await Promise.all([tokenizer.close(), guide.close(), formats.close()]);
  }
};

/** The headers without those about the body, which is recorded decompressed, and forms as JSON. */
const headersOf = (head: JsonObject): Record<string, string> => {
  const { 'content-length': _, 'content-encoding': _coding, ...rest } = head;
  return { ...(rest as Record<string, string>), 'content-type': 'application/json' };
};

/** Not a directory, so that there is no config file. */
const NO_STATE = join(import.meta.filename, 'state');

const configOf = (trace: readonly TraceRecord[]): Config => {
  // The defaults, without the user's config file.
  const config: Record<string, unknown> = { ...loadConfig({ PROXY_STATE_DIR: NO_STATE }) };
  for (const [slice, values] of Object.entries(objectIn(factsOf(trace, 'settings'), 'config'))) {
    const own = config[slice];
    if (typeof own === 'object' && !Array.isArray(own)) config[slice] = { ...own, ...(values as object) };
  }
  return config as unknown as Config;
};

const namesOf = (models: JsonObject, { modelAliases }: Config['clients']): ModelNames => {
  const listed = listIn(models, 'listed') as unknown as readonly ModelInfo[];
  const list = { models: listed, standard: models['standard'] as string | null, unlisted: [] };
  const names = createModelNames(list, modelAliases);
  const resolved = models['resolved'] as unknown as ResolvedModel;
  return { ...names, resolve: (name) => (name === models['asked'] ? resolved : names.resolve(name)) };
};

type Tools = Pick<EngineParts['deps'], 'logger' | 'metrics' | 'tokenizer' | 'guide'>;

const enginePartsOf = (
  trace: readonly TraceRecord[],
  config: Config,
  tools: Tools,
): Parameters<typeof engineOf> => {
  const known = factsOf(trace, 'backend', 'last');
  const chosen = backendOf(known);
  const refuses = listIn(known, 'refuses') as readonly string[];
  const relay =
    known['hasRelay'] === false ? null : playedRelay(profileOf(chosen, config.upstream.params), refuses);
  const recalled = factsOf(trace, 'recalled');
  const named = textIn(known, 'origin');
  const own = new ReasoningOrigins().of(named);
  // Captures of earlier versions do not say whose reasoning was left out.
  const origin = named === '' ? { ...own, isForeign: () => false } : own;
  const catalogue = {
    usesCodexFormat: () => known['isLite'] === true,
    responsesSlug: () => textIn(known, 'fullLane'),
    effortsOf: () => known['efforts'] ?? null,
    knows: () => known['isKnown'] === true,
    slugOf: (name: string) => textIn(known, 'slug') || name,
  } as unknown as ReturnType<EngineParts['offered']['current']>;
  return [
    chosen,
    {
      driver: wiringOf(relay).driver(
        driverDeps(
          chosen,
          { offered: { current: () => catalogue }, origin },
          {
            ...tools,
            config: { ...config, worker: { ...config.worker, preStart: 0 } },
            mcp: { deployment: new Map(), reach: null },
            unread: new UnreadTotal({ maxBytes: Infinity, onChange() {} }),
          },
        ),
      ),
      chosen,
      identity: 'capture',
      origin,
      offered: { current: () => catalogue, refresh() {} },
      workers: playedPool(trace, relay),
      refusals: new Refusals({ now: () => 0 }),
      wasRenewedSince: async () => false,
      deps: {
        ...tools,
        config,
        codexWatch: { warned() {} },
        reasoning: {
          of: () => ({
            remember() {},
            refused() {},
            load: async () => false,
            recall: ({ request: { items } }) => ({
              history:
                recalled['items'] === undefined ? wholeHistory(items) : (recalled as unknown as History),
              missing: [],
            }),
          }),
        },
        onUnauthorized() {},
      },
    },
  ];
};

const backendOf = (known: JsonObject): BackendTarget => {
  const kind = known['backend'];
  if (kind === 'login') return directLogin(known['isChatgpt'] === true ? 'chatgpt' : 'api-key');
  return kind === 'none' ? { kind } : { kind: 'upstream', baseUrl: 'http://localhost', apiKeyEnv: null };
};

/** What the captured request referred to. */
const loadedIn = (trace: readonly TraceRecord[]): LoadedItems => ({
  items: new Map(
    trace
      .filter(({ kind }) => kind === 'referred')
      .map(({ facts }) => {
        const item = facts['item'] as unknown as Item;
        // Older captures have no ids of their own.
        return [textIn(facts, 'id') || (item.id ?? ''), item];
      }),
  ),
  chain: trace
    .filter(({ kind }) => kind === 'continued')
    .flatMap(({ facts }) => facts['items'] as unknown as readonly Item[]),
});
