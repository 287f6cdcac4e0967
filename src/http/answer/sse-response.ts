import { isJsonObject } from '../../kit/json/json.ts';
import { yieldToLoop, runSliced } from '../../kit/async/event-loop.ts';
import { encodeFrame, encodeFrameSteps, isHeavyFrame, KEEPALIVE } from '../../apis/sse.ts';
import type { Frame, Api } from '../../turns/api.ts';
import { failure } from '../../canonical/failure/failure.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Clock } from '../../kit/ambient.ts';
import type { Run } from '../../turns/run.ts';
import { selfWriting, type SelfWriting } from './write-stream.ts';

/**
 * Output is written at once, unless several writes in a row came closer than this: then writes are this far apart. With
 * thousands of deltas a second, one write for each would cost as much as everything else.
 */
const WRITE_GAP_MS = 2;
const CLOSE_WRITES = 4;

/** Decides when the output of a connection is written, so that what is ready together goes out together. */
export class WritePace {
  readonly #flush: () => void;
  #flushedAtMs = 0;
  #closeWrites = 0;
  #isDue = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(flush: () => void) {
    this.#flush = flush;
  }

  get isDue(): boolean {
    return this.#isDue;
  }

  /** Calls `flush` soon, once. False: it is due already. */
  soon(): boolean {
    if (this.#isDue) return false;
    this.#isDue = true;
    const restMs = WRITE_GAP_MS - (performance.now() - this.#flushedAtMs);
    this.#closeWrites = restMs > 0 ? this.#closeWrites + 1 : 0;
    if (this.#closeWrites > CLOSE_WRITES) this.#timer = setTimeout(this.#flush, restMs);
    // After all promises: whatever else is ready goes with it.
    else process.nextTick(this.#flushIfDue);
    return true;
  }

  /** Something was written. */
  flushed(): void {
    this.cancel();
    this.#flushedAtMs = performance.now();
  }

  /** Nothing has to be written any more. */
  cancel(): void {
    this.#isDue = false;
    if (this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#timer = null;
  }

  readonly #flushIfDue = (): void => {
    if (this.#isDue && this.#timer === null) this.#flush();
  };
}

/** Text buffered for the socket before the turn is read further. */
const HIGH_WATER_CHARS = 64 * 1024;

/** Every stream ends with it: a reason of its own would be an error with a stack each time. */
const STOPPED = new Error('the stream has ended');

export interface SseOptions {
  readonly keepaliveMs: number;
  /** Sent while nothing else is; absent: a comment. */
  readonly keepalive?: Frame | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Called with each frame before it is written. */
  readonly onFrame?: (frame: Frame) => void;
  /** Called with the bytes of each frame, as text. */
  readonly onText?: (text: string) => void;
  /** The client has disconnected. */
  readonly onGone: () => void;
  /** The last byte was handed over, or the client has disconnected and the turn has ended. Called once. */
  readonly onEnd: () => void;
  /** The frames threw: a bug of the proxy. */
  readonly onBug: (error: unknown) => void;
  /**
   * The frames that end the stream then. They are renumbered to follow those already sent. Null: the connection breaks, and
   * the client can ask for the rest.
   */
  readonly endOfBroken: (() => AsyncIterable<Frame>) | null;
}

/** A streaming response. Frames that are ready together go out in one write. */
export const sseResponse = (frames: AsyncIterable<Frame>, options: SseOptions): Response => {
  const body = new SseBody(frames, options);
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (!body.isWritten) body.writeTo(new WebSink(controller));
        else body.drained();
      },
      cancel: () => body.leave(),
    },
    // Without room of its own: nothing is pulled before it is read, and it may never be.
    new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
  );
  const response = new Response(stream, {
    status: 200,
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      ...options.headers,
    },
  });
  return selfWriting(response, body);
};

/** Where the text of a stream goes. */
interface TextSink {
  /** False: nothing should be added before the reader has drained it. */
  readonly hasRoom: boolean;
  write(text: string): void;
  end(): void;
  /** The stream breaks off. */
  fail(error: unknown): void;
}

/** For a reader in this process. */
class WebSink implements TextSink {
  readonly #encoder = new TextEncoder();
  readonly #controller: ReadableStreamDefaultController<Uint8Array>;

  constructor(controller: ReadableStreamDefaultController<Uint8Array>) {
    this.#controller = controller;
  }

  get hasRoom(): boolean {
    return (this.#controller.desiredSize ?? 0) > -HIGH_WATER_CHARS;
  }

  write(text: string): void {
    this.#controller.enqueue(this.#encoder.encode(text));
  }

  end(): void {
    this.#controller.close();
  }

  fail(error: unknown): void {
    this.#controller.error(error);
  }
}

class SseBody implements SelfWriting {
  readonly #frames: AsyncIterable<Frame>;
  readonly #options: SseOptions;
  readonly #keepalive: NodeJS.Timeout;
  /** Null: its reader is not known yet. */
  #sink: TextSink | null = null;
  #buffer = '';
  readonly #pace = new WritePace(() => this.#flush());
  #wantsMore: (() => void) | null = null;
  #wroteSinceTick = false;
  #isInsideFrame = false;
  /** The last sequence number sent. */
  #sequence = -1;
  /** The end of a stream that was over before its reader was known. */
  #end: ((sink: TextSink) => void) | null = null;
  #isOver = false;
  /** Aborted when nothing more is written: stops a frame that is being encoded. */
  readonly #stopped = new AbortController();

  constructor(frames: AsyncIterable<Frame>, options: SseOptions) {
    this.#frames = frames;
    this.#options = options;
    this.#keepalive = setInterval(() => this.#tick(), options.keepaliveMs);
    void this.#pump();
  }

  get isWritten(): boolean {
    return this.#sink !== null;
  }

  writeTo(sink: TextSink): void {
    this.#sink = sink;
    this.#flush();
    if (this.#end !== null) this.#finish(this.#end);
    else if (sink.hasRoom) this.drained();
  }

  drained(): void {
    const resume = this.#wantsMore;
    this.#wantsMore = null;
    resume?.();
  }

  leave(): void {
    if (this.#isOver) return;
    // A pump waiting for an idle turn ends by the signal that `onGone` aborts.
    this.#options.onGone();
    this.#stop();
  }

  async #pump(): Promise<void> {
    try {
      await this.#write(this.#frames).catch((error: unknown) => this.#endBroken(error));
      if (this.#isOver) return;
      this.#flush();
      this.#finish((sink) => sink.end());
    } catch (error) {
      // Not even an error can be written: the client must at least see the stream break.
      if (!this.#isOver) this.#finish((sink) => sink.fail(error));
    } finally {
      this.#stop();
      this.#options.onEnd();
    }
  }

  #finish(end: (sink: TextSink) => void): void {
    if (this.#sink === null) this.#end = end;
    else end(this.#sink);
  }

  async #write(frames: AsyncIterable<Frame>, change?: (frame: Frame) => Frame): Promise<void> {
    for await (const one of frames) {
      if (this.#isOver) return;
      const frame = change === undefined ? one : change(one);
      if (isHeavyFrame(frame, HIGH_WATER_CHARS)) await this.#addLong(frame);
      else {
        const text = encodeFrame(frame);
        this.#options.onFrame?.(frame);
        this.#options.onText?.(text);
        // Awaited only when needed: there are thousands of frames.
        if (!this.#add(text)) await this.#untilDrained();
      }
      this.#sequence = sequenceOf(frame) ?? this.#sequence;
      if (this.#isOver) return;
    }
  }

  /** A renderer that throws is a bug; the client gets a server error. */
  async #endBroken(error: unknown): Promise<void> {
    if (this.#isOver) return;
    this.#options.onBug(error);
    const { endOfBroken } = this.#options;
    // Half a frame was sent: nothing after it could be parsed.
    if (this.#isInsideFrame || endOfBroken === null) throw error;
    await this.#write(endOfBroken(), (frame) =>
      sequenceOf(frame) === null ? frame : withSequence(frame, this.#sequence + 1),
    );
  }

  /** False if the reader lags: then nothing should be added before `#untilDrained`. */
  #add(text: string): boolean {
    this.#buffer += text;
    const isFull = this.#buffer.length > HIGH_WATER_CHARS;
    if (this.#sink === null) return !isFull;
    if (isFull) this.#flush();
    else this.#pace.soon();
    return this.#sink.hasRoom;
  }

  /** A response repeats the request, which may be megabytes: it is serialised in slices. */
  async #addLong(frame: Frame): Promise<void> {
    const pieces = await runSliced(encodeFrameSteps(frame), this.#stopped.signal);
    this.#options.onFrame?.(frame);
    this.#options.onText?.(pieces.join(''));
    this.#isInsideFrame = true;
    for (const piece of pieces) {
      if (this.#isOver) return;
      if (!this.#add(piece)) await this.#untilDrained();
      await yieldToLoop(this.#stopped.signal);
    }
    this.#isInsideFrame = false;
  }

  #flush(): void {
    if (this.#sink === null || this.#buffer === '') return;
    this.#pace.flushed();
    const text = this.#buffer;
    this.#buffer = '';
    this.#wroteSinceTick = true;
    this.#sink.write(text);
  }

  #untilDrained(): Promise<void> {
    return new Promise((resolve) => {
      this.#wantsMore = resolve;
    });
  }

  /** Only when nothing else was written, and never while the reader lags. */
  #tick(): void {
    if (
      !this.#wroteSinceTick &&
      !this.#isInsideFrame &&
      this.#buffer === '' &&
      this.#sink?.hasRoom === true
    ) {
      const { keepalive } = this.#options;
      this.#buffer = keepalive === undefined ? KEEPALIVE : encodeFrame(keepalive);
      this.#flush();
    }
    this.#wroteSinceTick = false;
  }

  #stop(): void {
    this.#isOver = true;
    this.#stopped.abort(STOPPED);
    clearInterval(this.#keepalive);
    this.#pace.cancel();
    this.drained();
  }
}

const sequenceOf = ({ data }: Frame): number | null => {
  const number = isJsonObject(data) ? data['sequence_number'] : null;
  return typeof number === 'number' ? number : null;
};

const withSequence = (frame: Frame, sequence: number): Frame => ({
  ...frame,
  data: { ...(frame.data as object), sequence_number: sequence },
});

/** The frames that end a stream after a bug of the proxy: those of a failed turn in this API, from its error on. */
export async function* endOfBrokenStream(
  api: Pick<Api, 'render'>,
  { meta, turns }: Pick<Run, 'meta' | 'turns'>,
  clock: Clock,
): AsyncGenerator<Frame> {
  let isEnding = false;
  for await (const frame of api.render(meta, [
    failedTurn(clock),
    ...Array.from({ length: turns - 1 }, () => failedTurn(clock)),
  ])) {
    isEnding ||= isError(frame);
    if (isEnding) yield frame;
  }
}

async function* failedTurn(clock: Clock): AsyncGenerator<TurnEvent> {
  const outcome = { kind: 'failed', failure: failure('server_error') } as const;
  yield { type: 'turn-ended', outcome, usage: null, at: clock.now() };
}

const isError = ({ event, data }: Frame): boolean =>
  event === 'error' || (event === null && isJsonObject(data) && data['error'] !== undefined);
