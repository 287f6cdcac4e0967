import { runSliced } from '../../../kit/async/event-loop.ts';
import { toAccessLine } from '../../../observe/request-end.ts';
import { endFrames } from '../../../openai/responses/output/render.ts';
import { INCLUDABLE, projectStoredResponse } from '../../../openai/responses/output/project-stored.ts';
import { encodeFrame, encodeFrameSteps, isHeavyFrame } from '../../../apis/sse.ts';
import { RESPONSES_PATH } from '../../../openai/responses/api.ts';
import { BackgroundRows, BackgroundRuns } from './background-runs.ts';
import { StreamCopies } from './stream-copies.ts';
import { ResponseEvents } from './response-events.ts';
import type { Api, Frame } from '../../../turns/api.ts';
import { BackgroundLimits } from './background-limits.ts';
import {
  responseStream,
  type StreamAsk,
  rerunBackground,
  serveBackground,
  type BackgroundParts,
} from './serve-background.ts';
import type { Core, Own } from '../../../compose/feature.ts';
import type { Exchange } from '../../../http/exchange/exchange.ts';
import type { Background } from '../../../http/turn/start-turn.ts';
import type { ResponseRow, StateStore } from '../store/port.ts';
import type { STATE_TABLES } from '../feature.ts';
import type { FoundResponse, StoredResponses } from '../stored-responses.ts';

export interface OpenBackground extends Background {
  /** Stops a response, on whichever instance it runs. */
  cancel(row: ResponseRow): Promise<void>;
  /** The stream of a stored response. Throws if it is not kept. */
  stream(found: FoundResponse, ask: StreamAsk, exchange: Exchange): Promise<Response>;
  /** Looks for lost responses from now on, and runs them again if the configuration says so. */
  start(): void;
  /** Waits for the running responses up to the limit, then stops the rest. */
  drain(timeoutMs: number): Promise<void>;
  /** Waits for the streams that are being written, within a limit. */
  close(): Promise<void>;
}

/** Of the memory for request bodies. */
const BODIES_PART = 1 / 2;
const HEAVY_CHARS = 64 * 1024;
const NEVER = new AbortController().signal;

/** The responses that run without a client, and the streams that can be read again. */
export const openBackground = (
  { store, responses }: { readonly store: StateStore; readonly responses: StoredResponses },
  core: Core,
  { settings, metrics, offers }: Own<typeof STATE_TABLES>,
): OpenBackground => {
  const { logger } = core;
  const { leaseEveryMs } = core.times;
  const { clock, ids } = core.ambient;
  const isResumed = settings.backgroundResume === 'on';
  const onError = (err: unknown): void =>
    logger.warn({ err }, 'a background response could not be written; trying again');
  const ending = async (owner: string, id: string, first: number): Promise<readonly string[]> => {
    const found = await responses.find(owner, id, { onBytes() {}, signal: NEVER });
    const asked = new Set(INCLUDABLE.filter((field) => found.include.includes(field)));
    return Promise.all(endFrames(projectStoredResponse(found, asked), first).map(encode));
  };
  const events = new ResponseEvents({ store, ending, onError });
  const copies = new StreamCopies({
    store: store.events,
    clock,
    show: (id, live) => events.show(id, live),
    hide: (id) => events.hide(id),
    onDropped: (reason) => metrics.streamsNotKept.inc({ reason }),
  });
  const limits = new BackgroundLimits({
    maxResponses: settings.maxBackgroundResponses,
    maxBytes: core.maxBytesInFlight * BODIES_PART,
    waitMs: core.waits.queueMs,
    isAdmin: (keyId) => offers.isAdmin(keyId),
    clock,
    onRefused: () => core.onRefused('background'),
  });
  const runs = new BackgroundRuns({
    store,
    rows: new BackgroundRows({ store, clock, ttlMs: core.storeTtlMs }),
    events,
    clock,
    encode,
    ending,
    instance: ids.mint('inst'),
    room: () => limits.free,
    rerun: isResumed ? (lost) => rerunBackground(responsesApi(core.apis), lost, parts()) : null,
    onBug: (err, id) => logger.error({ err, responseId: id }, 'background response failed unexpectedly'),
    onError,
    onChange({ queued, running }) {
      metrics.backgroundQueued.set(queued);
      metrics.backgroundRunning.set(running);
    },
    onLost({ id }, isRunAgain) {
      metrics.backgroundLost.inc({ result: isRunAgain ? 'resumed' : 'failed' });
      logger.warn({ responseId: id, isRunAgain }, 'the server of a background response has stopped');
    },
    ...(leaseEveryMs === undefined ? {} : { leaseEveryMs }),
  });
  const parts = (): BackgroundParts => ({
    runs,
    limits,
    events,
    turns: core.turns(),
    observer: core.observer(),
    onEnded(end) {
      logger.info({ responseId: end.backgroundId, ...toAccessLine(end) }, 'background response');
    },
  });
  return {
    keepsRequests: isResumed,
    serve: (request, serving) => serveBackground(request, serving, parts()),
    copyStream: (caller, responseId) => copies.open(caller, responseId),
    cancel: (row) => runs.cancel(row),
    stream: (found, ask, exchange) => responseStream(found, ask, exchange, { events, turns: core.turns() }),
    start: () => runs.start(),
    async drain(timeoutMs) {
      await runs.drain(timeoutMs);
      events.close();
    },
    // When requests have ended, too: their streams are written then.
    close: () => copies.close(),
  };
};

/** Only it has background responses. */
const responsesApi = (apis: readonly Api[]): Api => {
  const api = apis.find(({ path }) => path === RESPONSES_PATH);
  if (api === undefined) throw new Error('the Responses API is not served');
  return api;
};

const encode = async (frame: Frame): Promise<string> =>
  isHeavyFrame(frame, HEAVY_CHARS)
    ? (await runSliced(encodeFrameSteps(frame), null)).join('')
    : encodeFrame(frame);
