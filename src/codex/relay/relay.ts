import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { TurnRequest } from '../../canonical/turn-request.ts';
import type { WireEvent, WireReport } from '../translate/wire-report.ts';
import { affinityKey, type AffinityKey } from './affinity.ts';
import { wireEdits, type ThreadShape, type WireEdits } from './edits.ts';
import { forward, type ForwardOptions, type ModelCall } from './forward.ts';
import type { BackendProfile, EditField } from './profile.ts';
import { noFindings, type Findings } from './report.ts';

/** A server of ours on loopback, between the app-server and its backend. */
export interface Relay {
  /** What the app-server is told to be its provider. The path cannot be guessed. */
  readonly baseUrl: string;
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

export interface RelayOptions extends Omit<ForwardOptions, 'onLearnt'> {
  readonly profile: BackendProfile;
  /** A backend refused a field that we set; it is not set again for this model. */
  readonly onLearnt: (model: string, field: EditField) => void;
  /** A request that belongs to no turn of ours passed untouched. */
  readonly onUnplaced: () => void;
}

/** The app-server keeps idle connections for a while: it must be the one who closes them. */
const KEEP_ALIVE_MS = 120_000;
const MAX_BODY_BYTES = 256 * 1024 * 1024;

export const startRelay = async (options: RelayOptions): Promise<Relay> => {
  const tickets = new Map<string, Ticket>();
  const learnt = new Map<string, Set<EditField>>();
  const secret = randomBytes(24).toString('base64url');

  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const path = pathBehind(secret, incoming.url ?? '');
    if (path === null) {
      outgoing.writeHead(404).end();
      return;
    }
    const gone = new AbortController();
    outgoing.on('close', () => gone.abort());
    const ticket = tickets.get(String(incoming.headers['thread-id'])) ?? null;
    if (ticket === null) options.onUnplaced();
    const body = await readBody(incoming);
    const signal = ticket === null ? gone.signal : AbortSignal.any([gone.signal, ticket.signal]);
    await forward(
      { method: incoming.method ?? 'POST', path, headers: incoming.headers, body, signal, outgoing },
      ticket,
      { ...options, onLearnt: (model, field) => remember(model, field) },
    );
  };

  const remember = (model: string, field: EditField): void => {
    const fields = learnt.get(model) ?? new Set<EditField>();
    learnt.set(model, fields.add(field));
    options.onLearnt(model, field);
  };

  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => {
      // The app-server went away, or its body could not be read: there is nobody to answer.
      outgoing.destroy();
    });
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${secret}`,
    open(threadId, ask) {
      const refused = learnt.get(ask.request.model) ?? new Set<EditField>();
      const ticket = new Ticket(ask, new Set([...options.profile].filter((field) => !refused.has(field))));
      tickets.set(threadId, ticket);
      return {
        report: ticket,
        close() {
          tickets.delete(threadId);
          ticket.cut();
        },
      };
    },
    async close() {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      server.closeAllConnections();
      await closed;
    },
  };
};

/** One turn as the relay knows it: what to set on its model requests, and what was seen of the answers. */
class Ticket implements WireReport, ModelCall {
  readonly edits: WireEdits;
  readonly key: AffinityKey;
  readonly model: string;
  readonly findings: Findings = noFindings();
  readonly onEvent: (event: WireEvent) => void;
  readonly #request: TurnRequest;
  readonly #withheld = new Set<EditField>();
  readonly #cut = new AbortController();
  headers: Readonly<Record<string, string>> = {};

  constructor({ request, shape, onEvent }: RelayAsk, takes: BackendProfile) {
    this.#request = request;
    this.model = request.model;
    this.key = affinityKey(request);
    this.edits = wireEdits(request, shape, this.key, takes);
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
    return this.#request.wire
      .filter(({ field, matters }) => matters && field !== 'input' && !this.#sets(field))
      .map(({ name }) => name);
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
  const prefix = `/${secret}/`;
  return url.startsWith(prefix) ? url.slice(prefix.length - 1) : null;
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
