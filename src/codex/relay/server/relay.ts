import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

import type { Failure } from '../../../canonical/failure/failure.ts';
import type { Turn, TurnContext } from '../../../canonical/context/turn-context.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import { notFound, startLoopback } from '../../loopback.ts';
import { AppServerAnswer } from '../answer/app-server-answer.ts';
import { sessionOf, type AffinityOptions } from '../request/affinity.ts';
import { forward } from './forward.ts';
import type { ForwardOptions, RelayedRequest } from './relayed-request.ts';
import type { BackendProfile, EditField } from '../../capabilities/profile.ts';
import type { Refusals } from '../../capabilities/refusals.ts';
import { NewestToken } from '../request/newest-token.ts';
import { Renewals, type RenewalsOptions } from '../transport/renewals.ts';
import { TokenChecks } from '../transport/token-checks.ts';
import {
  addressesAt,
  routeOf,
  type RelayAddresses,
  type RelayRoute,
  type RelayTargets,
} from './relay-routes.ts';
import type { ExpectedTurn, LostReason } from './held-turn.ts';
import { HeldTurns, type HeldTurnHandle } from './held-turns.ts';
import { requestHeaders } from '../request/headers.ts';
import { readModelBody } from '../request/model-body.ts';
import { runSliced } from '../../../kit/async/event-loop.ts';
import { firstAborted } from '../../../kit/async/wait.ts';
import { joinSteps } from '../../../kit/json/json-writer.ts';

/** What the relay knows about its backend. */
export interface RelayBackend {
  readonly profile: BackendProfile;
  /** Fields that the backend is known to refuse for a request like this. */
  refusedFor(request: TurnRequest, context: TurnContext): ReadonlySet<EditField>;
}

/** Takes the turns whose model requests the relay writes. */
export interface RelayTurns {
  /** The backend's id of the turn's conversation. Never rejects, and waits for a moment at most. */
  sessionOf(turn: Turn): Promise<string>;
  /** Model requests of this thread belong to this turn from now on. They wait until it is claimed. */
  expect(turn: ExpectedTurn): HeldTurnHandle;
}

/** A local server between the app-server and its backend. */
export interface Relay extends RelayBackend, RelayTurns {
  /** URLs for the app-server instead of the real ones. They contain a secret. */
  readonly addresses: RelayAddresses;
  /** Why the access token of the login was not confirmed; null: it was, or there is none. */
  tokenFailure(): Failure | null;
  close(): Promise<void>;
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
  /** Called for a model request without a turn; it is not forwarded. */
  readonly onUnplaced: () => void;
  /** Called for a model request that is not its turn's own; it is not forwarded. */
  readonly onLost: (reason: LostReason) => void;
  /** Called with the number of items that codex added to the input; they are left out. */
  readonly onAdded: (items: number) => void;
  /** Called with the names of tools that codex added for itself; they are left out. */
  readonly onForeignTools: (names: readonly string[]) => void;
  /** Called for an unexpected exception; the app-server's request was aborted. */
  readonly onBug: (error: unknown) => void;
}

const NOTHING = Buffer.alloc(0);

/** codex waits for the account's settings in every thread, only to decide about a message about git in the prompt. */
const SETTINGS_PATH = '/wham/settings/user';
const SETTINGS = JSON.stringify({ commit_attribution_enabled: false });

export const startRelay = async (options: RelayOptions): Promise<Relay> => {
  const { refusals } = options;
  const renewals = new Renewals(options);
  const turns = new HeldTurns({ ...options, signIn: () => renewals.failure });
  const checks = new TokenChecks(options);
  const newestToken = new NewestToken();

  /** Serves a model request of the app-server. It is sent only if it belongs to a turn that a client waits for. */
  const serveModel = async (route: RelayRoute, incoming: IncomingMessage, outgoing: ServerResponse) => {
    const left = leftSignal(outgoing);
    const held = route.path === '/responses' ? turns.find(turnThreadOf(incoming.headers)) : null;
    if (held === null || held === 'ended') {
      // An ended turn may still send a model request, whose answer has no reader.
      if (held === null) options.onUnplaced();
      gone(outgoing);
      return;
    }
    const bytes = await readBody(incoming, left);
    if (bytes === null) return;
    newestToken.see(incoming.headers);
    // A turn that waits for a request has the credentials of the next one: a connection can be opened for it.
    options.transport.warm(route.target + route.path, requestHeaders(incoming.headers, null, options.apiKey));
    const admitted = await held.admit(incoming.headers, await readModelBody(bytes, null), left);
    if (admitted === 'dropped') {
      gone(outgoing);
      return;
    }
    if ('lost' in admitted) {
      options.onLost(admitted.lost);
      gone(outgoing);
      held.lost(admitted.lost);
      return;
    }
    const { relayTurn, model, added, foreignTools, release } = admitted;
    if (added > 0) options.onAdded(added);
    if (foreignTools.length > 0) options.onForeignTools(foreignTools);
    const relayed = toRelayedRequest(route, incoming.method, newestToken.applyTo(incoming.headers), {
      purpose: 'model',
      apiKey: options.apiKey,
      body: NOTHING,
      model,
      signal: firstAborted(left, relayTurn.signal),
      outgoing: new AppServerAnswer(outgoing, relayTurn),
    });
    const onLearnt = (learnt: string, field: EditField): void => {
      if (refusals.addField(relayTurn.turn, field)) options.onLearnt(learnt, field);
    };
    try {
      await forward(relayed, relayTurn, { ...options, onLearnt });
    } finally {
      release();
    }
  };

  /** Forwards a request about the account, or the model list, as it is. */
  const serveOther = async (route: RelayRoute, incoming: IncomingMessage, outgoing: ServerResponse) => {
    const signal = leftSignal(outgoing);
    const body = await readBody(incoming, signal);
    if (body === null) {
      outgoing.destroy();
      return;
    }
    const apiKey = route.name === 'model' ? options.apiKey : null;
    const answer = new AppServerAnswer(outgoing, null);
    const rest = { purpose: 'other', apiKey, body, model: null, signal, outgoing: answer } as const;
    await forward(toRelayedRequest(route, incoming.method, incoming.headers, rest), null, options);
  };

  const serve = async (rest: string, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const route = routeOf(rest, options.targets);
    if (route === null) {
      notFound(outgoing);
      return;
    }
    const known = await loginAnswer(route, incoming, { renewals, checks }, leftSignal(outgoing));
    if (known !== null) {
      outgoing.writeHead(known.status, { 'content-type': 'application/json' }).end(known.body);
      return;
    }
    const isModelRequest = route.name === 'model' && incoming.method === 'POST';
    await (isModelRequest ? serveModel : serveOther)(route, incoming, outgoing);
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
    sessionOf: (turn) => sessionOf(turn, options.affinity, options.clock.now()),
    expect: (expected) => turns.expect(expected),
    close: () => loopback.close(),
  };
};

/** For an app-server that has disconnected. */
const GONE = { status: 499, body: '' };

interface LoginServices {
  readonly renewals: Renewals;
  readonly checks: TokenChecks;
}

/** The answer to a request about the login; null: the request is forwarded. */
const loginAnswer = async (
  { name, target, path }: RelayRoute,
  incoming: IncomingMessage,
  { renewals, checks }: LoginServices,
  left: AbortSignal,
): Promise<{ readonly status: number; readonly body: Buffer | string } | null> => {
  const { method = 'GET', headers } = incoming;
  if (name === 'account' && path === SETTINGS_PATH && method === 'GET')
    return { status: 200, body: SETTINGS };
  if (name !== 'refresh' && name !== 'authApi') return null;
  const body = await readBody(incoming, left);
  if (body === null) return GONE;
  return name === 'refresh'
    ? renewals.renew({ url: target, headers, body })
    : checks.check({ method, url: `${target}${path}`, headers, body });
};

const toRelayedRequest = (
  { target, path }: RelayRoute,
  method: string | undefined,
  headers: IncomingHttpHeaders,
  rest: Omit<RelayedRequest, 'target' | 'path' | 'method' | 'headers'>,
): RelayedRequest => ({ ...rest, method: method ?? 'POST', target, path, headers });

/** The thread whose turn a request belongs to: a review has a thread of its own below ours. */
const turnThreadOf = (headers: IncomingHttpHeaders): string =>
  String(headers[headers['x-openai-subagent'] === 'review' ? 'x-codex-parent-thread-id' : 'thread-id']);

/** The turn has ended: no one would read the answer. */
const gone = (outgoing: ServerResponse): void => void outgoing.writeHead(410, { connection: 'close' }).end();

const MAX_BODY_BYTES = 256 * 1024 * 1024;

/** One for all, because an abort without a reason creates an error with a stack. */
const LEFT = new DOMException('the app-server has disconnected', 'AbortError');

/** Aborted when the app-server disconnects before the answer is complete. */
const leftSignal = (outgoing: ServerResponse): AbortSignal => {
  const left = new AbortController();
  outgoing.on('close', () => {
    if (!outgoing.writableFinished) left.abort(LEFT);
  });
  return left.signal;
};

/** Null if the app-server has disconnected. */
const readBody = async (incoming: IncomingMessage, left: AbortSignal): Promise<Buffer | null> => {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_BODY_BYTES) throw new Error('the request of the app-server is too large');
      chunks.push(chunk);
    }
    return chunks.length === 1 && chunks[0] !== undefined
      ? chunks[0]
      : Buffer.from((await runSliced(joinSteps(chunks), left)).buffer);
  } catch (error) {
    if (left.aborted) return null;
    throw error;
  }
};
