import { runSliced } from '../../kit/async/event-loop.ts';
import { jsonBytesSteps, isHeavy } from '../../kit/json/json-writer.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import { DONE } from '../../apis/sse.ts';
import type { Frame } from '../../turns/api.ts';
import { inLane } from './server-event.ts';
import type { SocketWriter } from './socket-writer.ts';

/** Longer events are serialised in slices: a response repeats its request, which may be megabytes. */
const LONG_CHARS = 64 * 1024;

/** The events of one response, on its lane, numbered from 0. */
export class ResponseStream {
  readonly streamId: string | null;
  readonly #writer: Pick<SocketWriter, 'send' | 'isFull' | 'drained'>;
  readonly #signal: AbortSignal;
  #next = 0;
  /** A long event that is being serialised. */
  #long: Promise<void> | null = null;

  /** Nothing is written once the signal is aborted. */
  constructor(
    writer: Pick<SocketWriter, 'send' | 'isFull' | 'drained'>,
    streamId: string | null,
    signal: AbortSignal,
  ) {
    this.#writer = writer;
    this.streamId = streamId;
    this.#signal = signal;
  }

  /**
   * Writes a frame of a run. `headers` is what HTTP would say in the head of the answer. Null: there is nothing to wait
   * for before the next one.
   *
   * A failed run ends with one event, `response.failed`, as clients expect it here: after an `error` they take the next
   * event for that of another response.
   */
  frame({ event, data, note }: Frame, headers: Readonly<Record<string, string>>): Promise<void> | null {
    if (data === DONE || event === 'error') return null;
    const all = note === undefined ? headers : { ...headers, ...headerIn(note) };
    return this.event(
      Object.keys(all).length === 0 ? (data as JsonObject) : { ...(data as JsonObject), headers: all },
    );
  }

  /** Writes an event with the next number. */
  event(data: JsonObject): Promise<void> | null {
    if (this.#long !== null) return this.#long.then(() => this.event(data) ?? undefined);
    const numbered = this.#numbered(data);
    if (isHeavy(numbered, LONG_CHARS)) return this.#writeLong(numbered);
    if (!this.#signal.aborted) this.#writer.send(JSON.stringify(numbered));
    return this.#writer.isFull ? this.#writer.drained() : null;
  }

  #numbered(data: JsonObject): JsonObject {
    const number = this.#next;
    this.#next += 1;
    if (this.streamId === null && data['sequence_number'] === number) return data;
    return { ...data, sequence_number: number, ...inLane(this.streamId) };
  }

  async #writeLong(data: JsonObject): Promise<void> {
    const written = Promise.withResolvers<void>();
    this.#long = written.promise;
    try {
      const bytes = await runSliced(jsonBytesSteps(data), this.#signal);
      if (!this.#signal.aborted) this.#writer.send(bytes);
    } catch (error) {
      if (!this.#signal.aborted) throw error;
    } finally {
      this.#long = null;
      written.resolve();
    }
    await this.#writer.drained();
  }
}

/** A note of a frame is a header that was not known in time for the head. */
const headerIn = (note: string): Readonly<Record<string, string>> => {
  const [name = '', value = ''] = note.split(': ');
  return { [name]: value };
};
