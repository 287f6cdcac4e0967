import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

import type { Failure } from '../../../canonical/failure/failure.ts';
import type { Turn, TurnContext } from '../../../canonical/context/turn-context.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import { joinSteps } from '../../../kit/json/json-bytes.ts';
import { runSliced } from '../../../kit/async/event-loop.ts';
import { notFound, startLoopback } from '../../loopback.ts';
import type { RelayReport } from '../../sources/upstream-event.ts';
import { affinityKey, type AffinityOptions } from '../request/affinity.ts';
import type { InputFindings } from '../request/edits.ts';
import { forward } from './forward.ts';
import type { ForwardOptions, RelayedRequest } from './relayed-request.ts';
import type { BackendProfile, EditField } from '../../capabilities/profile.ts';
import type { Refusals } from '../../capabilities/refusals.ts';
import { Renewals, type RenewalsOptions } from '../transport/renewals.ts';
import { TokenChecks } from '../transport/token-checks.ts';
import { RelayTurn, type RelayTurnParams } from './relay-turn.ts';
import { forgetOldest } from '../../../kit/collections/forget-oldest.ts';

/** A local server between the app-server and its backend. */
export interface Relay {
  /** URLs for the app-server instead of the real ones. They contain a secret. */
  readonly addresses: RelayAddresses;
  readonly profile: BackendProfile;
  /** Fields that the backend is known to refuse for a request like this. */
  refusedFor(request: TurnRequest, context: TurnContext): ReadonlySet<EditField>;
  /** Why the access token of the login was not confirmed; null: it was, or there is none. */
  tokenFailure(): Failure | null;
  /** Registers a turn: model requests of this thread belong to it from now on. */
  open(threadId: string, ask: RelayTurnParams): RelayTurnHandle;
  close(): Promise<void>;
}

/** Everything that an app-server connects to: its model, and with a login its account. */
export interface RelayAddresses {
  readonly model: string;
  readonly account: string;
  readonly refresh: string;
  readonly revoke: string;
  /** Where access tokens are checked. */
  readonly authApi: string;
}

export type RelayTargets = { readonly [Name in keyof RelayAddresses]: string | null };

export interface RelayTurnHandle {
  readonly report: RelayReport;
  /** Starts delivery of the model's output. The app-server's next model request waits until then. */
  begin(): void;
  /** Rejects further model requests: the current answer is the last one. */
  refuseFurtherRequests(): void;
  /** Releases the thread and aborts what still runs for it upstream. */
  close(): void;
}

export interface RelayOptions extends ForwardOptions, RenewalsOptions {
  /** The real URLs without a trailing slash; null: not used by the app-server. */
  readonly targets: RelayTargets;
  /** Key for the model's host; null if the app-server has its own. */
  readonly apiKey: string | null;
  readonly profile: BackendProfile;
  /** What the backend was found to reject. */
  readonly refusals: Refusals;
  /** How conversations are identified to the backend. */
  readonly affinity: AffinityOptions;
  /** Called for a model request without a turn; it is forwarded unchanged. */
  readonly onUnplaced: () => void;
  /** Called with what the relay had to restore in the input. */
  readonly onInput: (found: InputFindings) => void;
  /** Called for an unexpected exception; the app-server's request was aborted. */
  readonly onBug: (error: unknown) => void;
}

const MAX_BODY_BYTES = 256 * 1024 * 1024;
/** More threads than an app-server holds before it is replaced. */
const MAX_CLOSED_THREADS = 10_000;

/** codex waits for the account's settings in every thread, only to decide about a message about git in the prompt. */
const SETTINGS_PATH = '/wham/settings/user';
const SETTINGS = JSON.stringify({ commit_attribution_enabled: false });

export const startRelay = async (options: RelayOptions): Promise<Relay> => {
  const relayTurns = new Map<string, { readonly relayTurn: RelayTurn; readonly turn: Turn }>();
  const closed = new Set<string>();
  const { refusals } = options;
  const renewals = new Renewals(options);
  const checks = new TokenChecks(options);

  const letGo = (threadId: string): void => {
    relayTurns.delete(threadId);
    closed.add(threadId);
    forgetOldest(closed, MAX_CLOSED_THREADS);
  };
  const serve = async (rest: string, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const route = routeOf(rest, options.targets);
    if (route === null) {
      notFound(outgoing);
      return;
    }
    const threadId = turnThreadOf(incoming.headers);
    if (closed.has(threadId)) {
      // A released thread may still send a model request, whose answer has no reader.
      gone(outgoing);
      return;
    }
    const known = await loginAnswer(route, incoming, { renewals, checks });
    if (known !== null) {
      outgoing.writeHead(known.status, { 'content-type': 'application/json' }).end(known.body);
      return;
    }
    const left = new AbortController();
    outgoing.on('close', () => left.abort());
    // Only model requests are handled; a thread sends others, such as for compaction.
    const isModelRequest =
      route.name === 'model' && incoming.method === 'POST' && route.path === '/responses';
    const open = (isModelRequest ? relayTurns.get(threadId) : undefined) ?? null;
    const relayTurn = open?.relayTurn ?? null;
    if (route.name === 'model' && incoming.method === 'POST' && relayTurn === null) {
      options.onUnplaced();
      // Not the turn's own request, but caused by it, and counted like one.
      if (relayTurns.get(threadId)?.relayTurn.budget.take() === false) {
        gone(outgoing);
        return;
      }
    }
    if (relayTurn !== null && !relayTurn.isFirstRequest) {
      await relayTurn.begun;
      // Steering makes codex disconnect and send a new request, which may arrive before the disconnect.
      await relayTurn.answered;
      if (closed.has(threadId)) {
        gone(outgoing);
        return;
      }
    }
    const signal = relayTurn === null ? left.signal : AbortSignal.any([left.signal, relayTurn.signal]);
    // Referenced only by the relayed request, which releases it.
    const body = await readBody(incoming, signal).catch((error: unknown) => {
      if (signal.aborted) return null;
      throw error;
    });
    if (body === null) {
      // The app-server has disconnected, or its turn has ended.
      outgoing.destroy();
      return;
    }
    const apiKey = route.name === 'model' ? options.apiKey : null;
    const purpose = isModelRequest ? 'model' : 'other';
    const relayed = toRelayedRequest(route, incoming, { purpose, apiKey, body, signal, outgoing });
    const onLearnt = (model: string, field: EditField): void => {
      if (open !== null && refusals.addField(open.turn, field)) options.onLearnt(model, field);
    };
    await forward(relayed, relayTurn, { ...options, onLearnt });
  };

  const loopback = await startLoopback({
    serve,
    onError(error, incoming) {
      // Otherwise the app-server disconnected while sending: there is no one to answer.
      if (incoming.complete) options.onBug(error);
    },
  });

  return {
    addresses: addressesAt(loopback.origin),
    profile: options.profile,
    refusedFor: (request, context) => refusals.fieldsFor({ request, context }),
    tokenFailure: () => checks.failure,
    open(threadId, { request, context, shape, ...listeners }) {
      const turn = { request, context };
      const relayTurn = new RelayTurn({
        threadId,
        ...turn,
        shape,
        affinity: affinityKey(turn, options.affinity, options.clock.now()),
        limits: { profile: options.profile, refuses: refusals.fieldsFor(turn) },
        ...listeners,
        onInput: options.onInput,
        signIn: () => renewals.failure,
      });
      relayTurns.set(threadId, { relayTurn, turn });
      return {
        report: relayTurn,
        begin: () => relayTurn.begin(),
        refuseFurtherRequests: () => letGo(threadId),
        close() {
          letGo(threadId);
          relayTurn.cut();
        },
      };
    },
    close: () => loopback.close(),
  };
};

interface LoginServices {
  readonly renewals: Renewals;
  readonly checks: TokenChecks;
}

/** The answer to a request about the login; null: the request is forwarded. */
const loginAnswer = async (
  { name, target, path }: RelayRoute,
  incoming: IncomingMessage,
  { renewals, checks }: LoginServices,
): Promise<{ readonly status: number; readonly body: Buffer | string } | null> => {
  const { method = 'GET', headers } = incoming;
  if (name === 'account' && path === SETTINGS_PATH && method === 'GET')
    return { status: 200, body: SETTINGS };
  if (name !== 'refresh' && name !== 'authApi') return null;
  const body = await readBody(incoming, null);
  return name === 'refresh'
    ? renewals.renew({ url: target, headers, body })
    : checks.check({ method, url: `${target}${path}`, headers, body });
};

const toRelayedRequest = (
  { target, path }: RelayRoute,
  { method = 'POST', headers }: IncomingMessage,
  rest: Omit<RelayedRequest, 'target' | 'path' | 'method' | 'headers'>,
): RelayedRequest => ({ ...rest, method, target, path, headers });

/** The thread whose turn a request belongs to: a review has a thread of its own below ours. */
const turnThreadOf = (headers: IncomingHttpHeaders): string =>
  String(headers[headers['x-openai-subagent'] === 'review' ? 'x-codex-parent-thread-id' : 'thread-id']);

/** The turn has ended: no one would read the answer. */
const gone = (outgoing: ServerResponse): void => void outgoing.writeHead(410, { connection: 'close' }).end();

/** Path segments of the addresses. Without `backend-api` in it codex would use other paths. */
const SEGMENTS: Readonly<Record<keyof RelayAddresses, string>> = {
  model: 'model',
  account: 'backend-api',
  refresh: 'refresh',
  revoke: 'revoke',
  authApi: 'auth-api',
};

const addressesAt = (origin: string): RelayAddresses => ({
  model: `${origin}/${SEGMENTS.model}`,
  account: `${origin}/${SEGMENTS.account}`,
  refresh: `${origin}/${SEGMENTS.refresh}`,
  revoke: `${origin}/${SEGMENTS.revoke}`,
  authApi: `${origin}/${SEGMENTS.authApi}`,
});

interface RelayRoute {
  readonly name: keyof RelayAddresses;
  readonly target: string;
  /** The path after the name, with its slash and query. */
  readonly path: string;
}

/** Where a request of the app-server goes; null: nowhere. */
const routeOf = (rest: string, targets: RelayTargets): RelayRoute | null => {
  for (const name of Object.keys(SEGMENTS) as (keyof RelayAddresses)[]) {
    const target = targets[name];
    const path = rest.slice(SEGMENTS[name].length);
    // Tokens are refreshed at a single URL; the others are base URLs.
    const isWhole = name === 'refresh' || name === 'revoke' ? path === '' : path.startsWith('/');
    if (rest.startsWith(SEGMENTS[name]) && isWhole) return target === null ? null : { name, target, path };
  }
  return null;
};

const readBody = async (incoming: IncomingMessage, signal: AbortSignal | null): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error('the model request is too large');
    chunks.push(chunk);
  }
  return Buffer.from((await runSliced(joinSteps(chunks), signal)).buffer);
};
