import { randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { TurnRequest } from '../../canonical/turn-request.ts';
import type { WireEvent, WireReport } from '../translate/wire-report.ts';
import { affinityKey } from './affinity.ts';
import { wireEdits, type Taste, type ThreadShape, type WireEdits } from './edits.ts';
import { forward, type ForwardOptions, type Hop, type ModelCall } from './forward.ts';
import type { Session } from './headers.ts';
import type { BackendProfile, EditField } from './profile.ts';
import { noFindings, type Findings } from './report.ts';

/** A server of ours on loopback, between the app-server and its backend. */
export interface Relay {
  /** What the app-server is told to be its provider. The path cannot be guessed. */
  readonly baseUrl: string;
  /** The caller's names of parameters that the backend is known not to take. */
  unheard(request: TurnRequest): readonly string[];
  /** Model requests of this thread are ours from now on. */
  open(threadId: string, ask: RelayAsk): RelayTicket;
  close(): Promise<void>;
}

export interface RelayAsk {
  readonly request: TurnRequest;
  readonly shape: ThreadShape;
  readonly onEvent: (event: WireEvent) => void;
}

export interface RelayTicket {
  readonly report: WireReport;
  /** The thread is let go: what still runs for it upstream is cut off. */
  close(): void;
}

export interface RelayOptions extends ForwardOptions {
  /** Where model requests go, without a slash at its end. */
  readonly target: string;
  readonly profile: BackendProfile;
  /** A request that belongs to no turn of ours passed untouched. */
  readonly onUnplaced: () => void;
  /** Something threw that should not have; the app-server's request was cut off. */
  readonly onBug: (error: unknown) => void;
}

/** The app-server keeps idle connections for a while: it must be the one who closes them. */
const KEEP_ALIVE_MS = 120_000;
const MAX_BODY_BYTES = 256 * 1024 * 1024;
/** Logins carry long tokens, and codex adds metadata. */
const MAX_HEADER_BYTES = 128 * 1024;
/** Model names come from clients: what is remembered about them has an end. */
const MAX_LEARNT_MODELS = 1_000;
/** A backend may learn too, and what it refused may have hung on other parameters of that request. */
const LEARNT_FOR_MS = 10 * 60_000;
/** Refusing one of their values says nothing about the others. */
const NOT_LEARNT: ReadonlySet<EditField> = new Set(['service_tier', 'include']);
/** More than an app-server holds threads before it is replaced. */
const MAX_CLOSED_THREADS = 10_000;

export const startRelay = async (options: RelayOptions): Promise<Relay> => {
  const tickets = new Map<string, Ticket>();
  const closed = new Set<string>();
  const learnt = new Map<string, Map<EditField, number>>();
  const secret = randomBytes(24).toString('base64url');

  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const path = pathBehind(secret, incoming.url ?? '');
    const threadId = String(incoming.headers['thread-id']);
    if (path === null || closed.has(threadId)) {
      // A thread that was let go may be about to ask the model once more; nobody would hear the answer.
      outgoing.writeHead(path === null ? 404 : 410, { connection: 'close' }).end();
      return;
    }
    const gone = new AbortController();
    outgoing.on('close', () => gone.abort());
    // Only requests to the model are ours: a thread has others, such as for its compaction.
    const isModelRequest = incoming.method === 'POST' && path === '/responses';
    const ticket = (isModelRequest ? tickets.get(threadId) : undefined) ?? null;
    if (ticket === null) options.onUnplaced();
    const body = await readBody(incoming);
    const signal = ticket === null ? gone.signal : AbortSignal.any([gone.signal, ticket.signal]);
    const hop: Hop = {
      purpose: isModelRequest ? 'model' : 'other',
      method: incoming.method ?? 'POST',
      target: options.target,
      path,
      headers: incoming.headers,
      body,
      signal,
      outgoing,
    };
    await forward(hop, ticket, { ...options, onLearnt: remember });
  };

  const remember = (model: string, field: EditField): void => {
    if (NOT_LEARNT.has(field) || refusedFor(model).has(field)) return;
    const fields = learnt.get(model) ?? new Map<EditField, number>();
    learnt.set(model, fields.set(field, Date.now()));
    forgetOldest(learnt, MAX_LEARNT_MODELS);
    options.onLearnt(model, field);
  };

  /** What the backend was found to refuse for a model of late. */
  const refusedFor = (model: string): ReadonlySet<EditField> => {
    const since = Date.now() - LEARNT_FOR_MS;
    const fields = [...(learnt.get(model) ?? [])].filter(([, at]) => at > since).map(([field]) => field);
    return new Set(fields);
  };

  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (incoming, outgoing) => {
    handle(incoming, outgoing).catch((error: unknown) => {
      // The app-server went away while it was still sending: there is nobody to answer.
      const isGone = !incoming.complete;
      outgoing.destroy();
      if (!isGone) options.onBug(error);
    });
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${secret}`,
    unheard({ wire, model }) {
      const refuses = learnt.get(model);
      const isTaken = (field: EditField): boolean =>
        options.profile.has(field) && refuses?.has(field) !== true;
      return wire.filter(({ field, matters }) => matters && !isTaken(field)).map(({ name }) => name);
    },
    open(threadId, ask) {
      const refuses = refusedFor(ask.request.model);
      const ticket = new Ticket(threadId, ask, { takes: options.profile, refuses });
      tickets.set(threadId, ticket);
      return {
        report: ticket,
        close() {
          tickets.delete(threadId);
          closed.add(threadId);
          forgetOldest(closed, MAX_CLOSED_THREADS);
          ticket.cut();
        },
      };
    },
    async close() {
      const ended = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      server.closeAllConnections();
      await ended;
    },
  };
};

/** Maps and sets keep the order in which their keys came. */
const forgetOldest = (
  kept: { readonly size: number; keys(): Iterator<string>; delete(key: string): boolean },
  max: number,
): void => {
  if (kept.size <= max) return;
  const oldest = kept.keys().next();
  if (oldest.done !== true) kept.delete(oldest.value);
};

/** One turn as the relay knows it: what to set on its model requests, and what was seen of the answers. */
class Ticket implements WireReport, ModelCall {
  readonly edits: WireEdits;
  readonly session: Session;
  readonly model: string;
  readonly findings: Findings = noFindings();
  readonly onEvent: (event: WireEvent) => void;
  readonly #request: TurnRequest;
  readonly #withheld = new Set<EditField>();
  readonly #cut = new AbortController();
  headers: Readonly<Record<string, string>> = {};

  constructor(threadId: string, { request, shape, onEvent }: RelayAsk, taste: Taste) {
    const session = { threadId, ...affinityKey(request) };
    this.#request = request;
    this.model = request.model;
    this.session = session;
    this.edits = wireEdits(request, shape, session, taste);
    this.onEvent = onEvent;
  }

  get signal(): AbortSignal {
    return this.#cut.signal;
  }
  get withheld(): ReadonlySet<EditField> {
    return this.#withheld;
  }
  get failure() {
    return this.findings.failure;
  }
  get incomplete() {
    return this.findings.incomplete;
  }
  get usage() {
    return this.findings.usage;
  }
  get refusals() {
    return this.findings.refusals;
  }
  get limitsOutput(): boolean {
    return this.#sets('max_output_tokens');
  }
  get ignored(): readonly string[] {
    const unset = this.#request.wire
      .filter(({ field, matters }) => matters && field !== 'input' && !this.#sets(field))
      .map(({ name }) => name);
    const isTierRefused = this.edits.refused.has('service_tier') || this.#withheld.has('service_tier');
    return isTierRefused ? [...unset, 'service_tier'] : unset;
  }

  withhold(field: EditField): void {
    this.#withheld.add(field);
  }

  cut(): void {
    this.#cut.abort();
  }

  #sets(field: EditField): boolean {
    return this.edits.fields.has(field) && !this.#withheld.has(field);
  }
}

/** The path behind our prefix; null for anybody who does not know it. */
const pathBehind = (secret: string, url: string): string | null => {
  const prefix = Buffer.from(`/${secret}/`);
  const given = Buffer.from(url).subarray(0, prefix.length);
  // In constant time: how much of a guess is right must not be seen.
  if (given.length !== prefix.length || !timingSafeEqual(given, prefix)) return null;
  return url.slice(prefix.length - 1);
};

const readBody = async (incoming: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error('the model request is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
};
