import type { Config } from '../config/schema.ts';
import { runSliced } from '../kit/async/event-loop.ts';
import { systemAmbient } from '../kit/ambient.ts';
import { toAccessLine } from '../observe/request-end.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RequestObserver } from '../observe/request-observer.ts';
import { endFrames } from '../openai/responses/output/render.ts';
import { INCLUDABLE, projectStoredResponse } from '../openai/responses/output/project-stored.ts';
import { encodeFrame, encodeFrameSteps, isHeavyFrame } from '../apis/sse.ts';
import { RESPONSES_PATH } from '../openai/responses/api.ts';
import { BackgroundRows, BackgroundRuns, type LostResponse } from '../state/background-runs.ts';
import { StreamCopies } from '../state/stream-copies.ts';
import { ResponseEvents } from '../state/response-events.ts';
import type { Api, Frame } from '../turns/api.ts';
import { BackgroundLimits } from '../turns/background-limits.ts';
import { rerunBackground, type BackgroundDeps } from '../http/turn/serve-background.ts';
import type { TurnDeps } from '../http/turn/start-turn.ts';
import type { OpenState } from './state.ts';

export interface OpenBackground extends BackgroundDeps {
  /** Looks for lost responses from now on, and runs them again if the configuration says so. */
  start(apis: readonly Api[], turns: TurnDeps): void;
  /** Waits for the running responses up to the limit, then stops the rest. */
  drain(timeoutMs: number): Promise<void>;
}

export interface BackgroundParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly observer: RequestObserver;
  readonly isAdmin: (keyId: string) => boolean;
  readonly state: OpenState;
  /** For tests. */
  readonly leaseEveryMs?: number;
}

const DAY_MS = 24 * 60 * 60_000;
/** Of the memory for request bodies. */
const BODIES_PART = 1 / 2;
const HEAVY_CHARS = 64 * 1024;
const NEVER = new AbortController().signal;

/** The responses that run without a client. Null: nothing is stored. */
export const openBackground = (
  config: Config,
  { state: { store, responses }, logger, metrics, observer, isAdmin, leaseEveryMs }: BackgroundParts,
): OpenBackground | null => {
  if (store === null) return null;
  const { clock, ids } = systemAmbient;
  const { load, state } = config;
  const isResumed = state.backgroundResume === 'on';
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
    maxResponses: load.maxBackgroundResponses,
    maxBytes: load.maxBytesInFlightMb * 1024 * 1024 * BODIES_PART,
    waitMs: load.queueTimeoutMs,
    isAdmin,
    clock,
    onRefused: () => metrics.refused.inc({ reason: 'background' }),
  });
  let rerun: (lost: LostResponse) => Promise<void> = () => Promise.reject(new Error('not started yet'));
  const runs = new BackgroundRuns({
    store,
    rows: new BackgroundRows({ store, clock, ttlMs: state.ttlDays * DAY_MS }),
    events,
    clock,
    encode,
    ending,
    instance: ids.mint('inst'),
    room: () => limits.free,
    rerun: isResumed ? (lost) => rerun(lost) : null,
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
  const background: OpenBackground = {
    runs,
    limits,
    events,
    copies,
    keepsRequests: isResumed,
    observer,
    onEnded(end) {
      logger.info({ responseId: end.backgroundId, ...toAccessLine(end) }, 'background response');
    },
    start(apis, turns) {
      const api = apis.find(({ path }) => path === RESPONSES_PATH);
      if (api !== undefined) rerun = (lost) => rerunBackground(api, lost, { ...turns, background });
      runs.start();
    },
    async drain(timeoutMs) {
      await runs.drain(timeoutMs);
      events.close();
    },
  };
  return background;
};

const encode = async (frame: Frame): Promise<string> =>
  isHeavyFrame(frame, HEAVY_CHARS)
    ? (await runSliced(encodeFrameSteps(frame), null)).join('')
    : encodeFrame(frame);
