import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

import type { Headers } from '../../end-to-end-headers.ts';

/** What the app-server does after an answer that it does not get. */
export type AfterAnswer =
  /** It asks again in the same turn, with the same input: for the next request of the same caller. */
  | 'asks-again'
  /** It completes its turn. */
  | 'completes';

/** The turn that an answer belongs to. */
export interface AnsweredTurn {
  /** Whether the app-server has nothing to do with most answers, so that they are held back. */
  readonly holdsAnswers: boolean;
  /** Set as soon as the turn needs nothing more of the app-server. */
  readonly after: AfterAnswer | null;
  /** The app-server gets so many bytes of an answer, or has left before its end. */
  passed(bytes: number): void;
}

/** More than the items of most answers. One beyond it is passed on. */
const MAX_HELD_BYTES = 1024 * 1024;

/**
 * Headers that are not for the end in place of an answer. codex keeps the turn state for its whole turn, and sends it
 * with every later request of it; the others describe the body.
 */
const NOT_OF_THE_END = ['x-codex-turn-state', 'content-encoding', 'content-length'];

/**
 * The answer to a request of the app-server. The answer to a model request can be held back until it is known whether
 * the app-server has anything to do with it. If it has, it gets the answer, else a few bytes in its place.
 */
export class AppServerAnswer {
  readonly #response: ServerResponse;
  readonly #turn: AnsweredTurn | null;
  /** Null: what is written is sent. */
  #held: Uint8Array[] | null;
  #heldBytes = 0;
  #head: { readonly status: number; readonly headers: Headers } | null = null;
  #isOver = false;

  constructor(response: ServerResponse, turn: AnsweredTurn | null) {
    this.#response = response;
    this.#turn = turn;
    this.#held = turn?.holdsAnswers === true ? [] : null;
  }

  begin(status: number, headers: Headers): void {
    this.#head = { status, headers };
    if (this.#held === null) this.#sendHead();
  }

  /** False: wait until it has drained. */
  write(bytes: Uint8Array): boolean {
    // The last bytes of an answer may be those that make it too long to be held.
    if (bytes.length === 0 || this.#isOver || this.#skip()) return true;
    if (this.#held === null) return this.#send(bytes);
    // A copy: an event may be a small part of what has arrived with it, which would be kept with it.
    this.#held.push(new Uint8Array(bytes));
    this.#heldBytes += bytes.length;
    return this.#heldBytes <= MAX_HELD_BYTES || this.pass();
  }

  /**
   * Sends what was held back, unless the app-server has nothing to do with it; what follows is not held. False: wait
   * until it has drained.
   */
  pass(): boolean {
    if (this.#held === null || this.#isOver || this.#skip()) return true;
    const held = this.#held;
    this.#held = null;
    if (this.#head !== null) this.#sendHead();
    return held.reduce((_, bytes) => this.#send(bytes), true);
  }

  drained(signal: AbortSignal): Promise<unknown> {
    return once(this.#response, 'drain', { signal });
  }

  /** Another answer than that of the model: the app-server acts on it. */
  refuse(status: number, headers: Headers, body: Uint8Array | string): void {
    if (this.#isOver || this.#skip()) return;
    this.#end();
    this.#response.writeHead(status, headers).end(body);
  }

  end(bytes: Uint8Array): void {
    this.write(bytes);
    this.pass();
    if (this.#isOver) return;
    this.#end();
    this.#response.end();
  }

  /** The answer has broken off: so does the connection, after what was written. */
  breakOff(bytes: Uint8Array): void {
    this.write(bytes);
    this.pass();
    if (this.#isOver) return;
    this.#end();
    this.#response.socket?.destroySoon();
  }

  /** No one waits for the rest of it. */
  abandon(): void {
    if (this.#isOver || this.#skip()) return;
    this.#end();
    this.#response.destroy();
  }

  /** Whether the app-server need not see the answer: it gets the end of one. */
  #skip(): boolean {
    const after = this.#turn?.after ?? null;
    if (this.#isOver || this.#held === null || after === null) return false;
    const body = ENDS[after];
    const headers = { ...this.#head?.headers };
    for (const name of NOT_OF_THE_END) delete headers[name];
    this.#isOver = true;
    this.#held = null;
    this.#response
      .writeHead(200, { ...headers, 'content-type': 'text/event-stream', 'content-length': body.length })
      .end(body);
    return true;
  }

  #end(): void {
    this.#isOver = true;
    this.#held = null;
    this.#turn?.passed(0);
  }

  #sendHead(): void {
    this.#turn?.passed(0);
    if (this.#head !== null) this.#response.writeHead(this.#head.status, this.#head.headers);
  }

  #send(bytes: Uint8Array): boolean {
    this.#turn?.passed(bytes.length);
    return this.#response.write(bytes);
  }
}

/** An answer without output. The usage is not that of the turn: the app-server would compact a thread that it has used up. */
const endOf = (more: object): Buffer => {
  const id = 'resp_carried';
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const frame = (type: string, response: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, response })}\n\n`;
  return Buffer.from(
    frame('response.created', { id }) + frame('response.completed', { id, output: [], usage, ...more }),
  );
};

const ENDS: Readonly<Record<AfterAnswer, Buffer>> = {
  'asks-again': endOf({ end_turn: false }),
  completes: endOf({}),
};
