import type { Ambient } from '../../../kit/ambient.ts';
import type { Json, JsonObject } from '../../../kit/json/json.ts';
import type { Frame } from '../../../turns/api.ts';
import type { McpAnswer, McpId, McpVersion } from './mcp-messages.ts';

/** Of one client. */
const MAX_PER_KEY = 100;
const MAX_SESSIONS = 1_000;
export const IDLE_MS = 30 * 60_000;
/** Messages that wait for a slow reader. */
const MAX_WAITING = 1_000;

/** The messages of one stream to a client. It can be read once. */
export class MessageStream {
  readonly #waiting: JsonObject[] = [];
  #isEnded = false;
  #wake: (() => void) | null = null;

  /** False: it has ended, or its reader is too slow. */
  send(message: JsonObject): boolean {
    if (this.#isEnded || this.#waiting.length >= MAX_WAITING) return false;
    this.#waiting.push(message);
    this.#wake?.();
    return true;
  }

  /** The last message, which is sent however slow the reader is. */
  finish(message: JsonObject): void {
    if (this.#isEnded) return;
    this.#waiting.push(message);
    this.#wake?.();
  }

  /** Ends the stream when its messages have been read. */
  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  async *frames(): AsyncGenerator<Frame> {
    for (;;) {
      const message = this.#waiting.shift();
      if (message !== undefined) yield { event: 'message', data: message };
      else if (this.#isEnded) return;
      else await this.#more();
    }
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = null;
        resolve();
      };
    });
  }
}

/** What a client says about itself. */
interface ClientFacts {
  readonly keyId: string;
  readonly version: McpVersion;
  /** Whether the client can show a form to its user. */
  readonly canElicit: boolean;
}

interface SessionFacts extends ClientFacts {
  readonly id: string;
}

interface Question {
  readonly method: string;
  readonly params: JsonObject;
  /** The stream of the call that asks; null: that of the session. */
  readonly stream: MessageStream | null;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** A client that has initialized. */
export class McpSession {
  readonly facts: SessionFacts;
  readonly #ambient: Ambient;
  readonly #calls = new Map<string, AbortController>();
  readonly #questions = new Map<McpId, (answer: McpAnswer | null) => void>();
  #channel: MessageStream | null = null;
  #usedAt: number;

  constructor(facts: SessionFacts, ambient: Ambient) {
    this.facts = facts;
    this.#ambient = ambient;
    this.#usedAt = ambient.clock.now();
  }

  /** Since when it has done nothing; null: a call runs. */
  get idleSince(): number | null {
    return this.#calls.size > 0 ? null : this.#usedAt;
  }

  get hasChannel(): boolean {
    return this.#channel !== null;
  }

  get isExpired(): boolean {
    const { idleSince } = this;
    return idleSince !== null && !this.hasChannel && this.#ambient.clock.now() - idleSince >= IDLE_MS;
  }

  used(): void {
    this.#usedAt = this.#ambient.clock.now();
  }

  /** Registers a call until the result is called. Null: a call with this id runs already. */
  begin(id: McpId, call: AbortController): (() => void) | null {
    const name = nameOf(id);
    if (this.#calls.has(name)) return null;
    this.#calls.set(name, call);
    return () => {
      this.#calls.delete(name);
      this.used();
    };
  }

  /** Cancels a call, unless it has ended. */
  cancel(id: McpId): void {
    this.#calls.get(nameOf(id))?.abort(new CancelledByClient());
  }

  /** Opens the stream for messages that belong to no call. An older one ends: its client has lost it. */
  openChannel(): MessageStream {
    this.#channel?.end();
    this.#channel = new MessageStream();
    return this.#channel;
  }

  /** Ends the stream, unless a newer one has replaced it. */
  closeChannel(channel: MessageStream | null = this.#channel): void {
    channel?.end();
    if (channel === this.#channel) this.#channel = null;
    this.used();
  }

  /** Asks the client. Null: it cannot be reached, answered with an error, or did not answer in time. */
  async ask({ method, params, stream, timeoutMs, signal }: Question): Promise<JsonObject | null> {
    const id = this.#ambient.ids.mint('ask');
    const to = stream ?? this.#channel;
    const { promise, resolve } = Promise.withResolvers<McpAnswer | null>();
    const giveUp = (): void => resolve(null);
    const timer = setTimeout(giveUp, timeoutMs);
    signal.addEventListener('abort', giveUp, { once: true });
    this.#questions.set(id, resolve);
    try {
      const isSent = !signal.aborted && (to?.send({ jsonrpc: '2.0', id, method, params }) ?? false);
      if (!isSent) return null;
      const answer = await promise;
      if (answer === null) to?.send(cancelled(id));
      return answer?.result ?? null;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      this.#questions.delete(id);
    }
  }

  /** An answer to a question that is not open any more has no effect. */
  answered(answer: McpAnswer): void {
    this.#questions.get(answer.id)?.(answer);
  }

  end(): void {
    for (const call of this.#calls.values()) call.abort(new CancelledByClient());
    for (const resolve of this.#questions.values()) resolve(null);
    this.closeChannel();
  }
}

/** Its call gets no answer. */
export class CancelledByClient extends Error {}

const nameOf = (id: McpId): string => JSON.stringify(id);

const cancelled = (requestId: Json): JsonObject => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId },
});

/**
 * The sessions of this server, in memory. If there are too many, the one that was idle for the longest makes room: its client
 * then gets 404, and initializes again.
 */
export class McpSessions {
  readonly #ambient: Ambient;
  readonly #sessions = new Map<string, McpSession>();

  constructor(ambient: Ambient) {
    this.#ambient = ambient;
  }

  /** Null: all sessions of the key, or of this server, are busy. */
  open(facts: ClientFacts): McpSession | null {
    for (const session of this.#sessions.values()) if (session.isExpired) this.end(session);
    if (!this.#makesRoom(facts.keyId)) return null;
    const session = new McpSession({ ...facts, id: this.#ambient.ids.mint('mcp') }, this.#ambient);
    this.#sessions.set(session.facts.id, session);
    return session;
  }

  /** Null: it is unknown, or belongs to another key. */
  find(id: string, keyId: string): McpSession | null {
    const session = this.#sessions.get(id);
    if (session === undefined || session.facts.keyId !== keyId) return null;
    if (session.isExpired) {
      this.end(session);
      return null;
    }
    session.used();
    return session;
  }

  end(session: McpSession): void {
    this.#sessions.delete(session.facts.id);
    session.end();
  }

  /** Ends the streams that no call needs: they would keep the server from stopping. */
  drain(): void {
    for (const session of this.#sessions.values()) session.closeChannel();
  }

  close(): void {
    for (const session of this.#sessions.values()) this.end(session);
  }

  #makesRoom(keyId: string): boolean {
    const byKey = Map.groupBy(this.#sessions.values(), ({ facts }) => facts.keyId);
    const own = byKey.get(keyId) ?? [];
    if (own.length >= MAX_PER_KEY) return this.#drop(own);
    if (this.#sessions.size < MAX_SESSIONS) return true;
    const most = [...byKey.values()].toSorted((one, other) => other.length - one.length);
    return most.some((sessions) => this.#drop(sessions));
  }

  /** Ends the longest idle one of these; at first those whose clients listen to nothing. False: all are busy. */
  #drop(sessions: readonly McpSession[]): boolean {
    const [oldest] = sessions
      .filter(({ idleSince }) => idleSince !== null)
      .toSorted(
        (one, other) =>
          Number(one.hasChannel) - Number(other.hasChannel) || (one.idleSince ?? 0) - (other.idleSince ?? 0),
      );
    if (oldest === undefined) return false;
    this.end(oldest);
    return true;
  }
}
