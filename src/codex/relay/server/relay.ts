import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

import type { Turn, TurnContext } from '../../../canonical/context/turn-context.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import { joinSteps } from '../../../kit/json/json-bytes.ts';
import { runSliced } from '../../../kit/async/event-loop.ts';
import { notFound, startLoopback } from '../../loopback.ts';
import type { RelayReport, UpstreamEvent } from '../../sources/upstream-event.ts';
import { affinityKey, type AffinityOptions } from '../request/affinity.ts';
import type { InputFindings, ThreadShape } from '../request/edits.ts';
import { forward } from './forward.ts';
import type { ForwardOptions, RelayedRequest } from './relayed-request.ts';
import { LearntRefusals } from './learnt.ts';
import type { BackendProfile, EditField } from '../../capabilities/profile.ts';
import { Renewals, type RenewalsOptions } from '../transport/renewals.ts';
import { RelayTurn } from './relay-turn.ts';
import { forgetOldest } from '../../../kit/collections/forget-oldest.ts';

/** A server of ours on loopback, between the app-server and its backend. */
export interface Relay {
  /** What the app-server is told instead of the real addresses. The paths cannot be guessed. */
  readonly addresses: RelayAddresses;
  readonly profile: BackendProfile;
  /** What the backend is known to refuse of a request like this. */
  refusedFor(request: TurnRequest, context: TurnContext): ReadonlySet<EditField>;
  /** Model requests of this thread are ours from now on. */
  open(threadId: string, ask: RelayTurnParams): RelayTurnHandle;
  close(): Promise<void>;
}

/** Everything that an app-server talks to: its model, and with a login its account. */
export interface RelayAddresses {
  readonly model: string;
  readonly account: string;
  readonly refresh: string;
  readonly revoke: string;
}

export type RelayTargets = { readonly [Name in keyof RelayAddresses]: string | null };

export interface RelayTurnParams extends Turn {
  readonly shape: ThreadShape;
  readonly onUpstreamEvent: (signal: UpstreamEvent) => void;
  /** A model request is sent, or its backend is heard. */
  readonly onActivity: (sign: 'sent' | 'heard') => void;
}

export interface RelayTurnHandle {
  readonly report: RelayReport;
  /**
   * Somebody hears what the model says. Until then nobody has ended the turn at an answer that calls a tool of the
   * client, so what the app-server asks the model about that answer waits.
   */
  begin(): void;
  /** The answer that is here is the last one: the model is not to be asked again. */
  refuseFurtherRequests(): void;
  /** The thread is let go: what still runs for it upstream is cut off. */
  close(): void;
}

export interface RelayOptions extends ForwardOptions, RenewalsOptions {
  /** Where things really are, without a slash at the end; null: the app-server has no business there. */
  readonly targets: RelayTargets;
  /** For the model's host; null where the app-server has its own. */
  readonly apiKey: string | null;
  readonly profile: BackendProfile;
  /** How conversations are named to the backend. */
  readonly affinity: AffinityOptions;
  /** A model request that belongs to no turn of ours passed untouched. */
  readonly onUnplaced: () => void;
  /** How the app-server had left the conversation before the relay restored it. */
  readonly onInput: (found: InputFindings) => void;
  /** Something threw that should not have; the app-server's request was cut off. */
  readonly onBug: (error: unknown) => void;
}

const MAX_BODY_BYTES = 256 * 1024 * 1024;
/** More than an app-server holds threads before it is replaced. */
const MAX_CLOSED_THREADS = 10_000;

/**
 * Before the first model request of every thread codex asks for the account's settings, and waits. All
 * that it wants to know is whether to add a message about git to the prompt.
 */
const SETTINGS_PATH = '/wham/settings/user';
const SETTINGS = JSON.stringify({ commit_attribution_enabled: false });

export const startRelay = async (options: RelayOptions): Promise<Relay> => {
  const relayTurns = new Map<string, { readonly relayTurn: RelayTurn; readonly turn: Turn }>();
  const closed = new Set<string>();
  const learnt = new LearntRefusals({ now: () => Date.now() });
  const renewals = new Renewals(options);

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
      // A thread that was let go may be about to ask the model once more; nobody would hear the answer.
      gone(outgoing);
      return;
    }
    if (route.name === 'account' && route.path === SETTINGS_PATH && incoming.method === 'GET') {
      outgoing.writeHead(200, { 'content-type': 'application/json' }).end(SETTINGS);
      return;
    }
    if (route.name === 'refresh') {
      const renewal = { url: route.target, headers: incoming.headers, body: await readBody(incoming, null) };
      const { status, body } = await renewals.renew(renewal);
      outgoing.writeHead(status, { 'content-type': 'application/json' }).end(body);
      return;
    }
    const left = new AbortController();
    outgoing.on('close', () => left.abort());
    // Only requests to the model are ours: a thread has others, such as for its compaction.
    const isModelRequest =
      route.name === 'model' && incoming.method === 'POST' && route.path === '/responses';
    const open = (isModelRequest ? relayTurns.get(threadId) : undefined) ?? null;
    const relayTurn = open?.relayTurn ?? null;
    if (route.name === 'model' && incoming.method === 'POST' && relayTurn === null) {
      options.onUnplaced();
      // Not the turn's own request, but caused by it, and paid for like one.
      if (relayTurns.get(threadId)?.relayTurn.budget.take() === false) {
        gone(outgoing);
        return;
      }
    }
    if (relayTurn !== null && !relayTurn.isFirstRequest) {
      await relayTurn.begun;
      // Who steers makes codex hang up and ask anew, which may be seen in another order.
      await relayTurn.answered;
      if (closed.has(threadId)) {
        gone(outgoing);
        return;
      }
    }
    const signal = relayTurn === null ? left.signal : AbortSignal.any([left.signal, relayTurn.signal]);
    // Held by the hop alone, which lets it go.
    const body = await readBody(incoming, signal).catch((error: unknown) => {
      if (signal.aborted) return null;
      throw error;
    });
    if (body === null) {
      // The app-server left, or its turn has ended.
      outgoing.destroy();
      return;
    }
    const apiKey = route.name === 'model' ? options.apiKey : null;
    const relayed = toRelayedRequest(route, incoming, { isModelRequest, apiKey, body, signal, outgoing });
    const onLearnt = (model: string, field: EditField): void => {
      if (open !== null && learnt.remember(open.turn, field)) options.onLearnt(model, field);
    };
    await forward(relayed, relayTurn, { ...options, onLearnt });
  };

  const loopback = await startLoopback({
    serve,
    onError(error, incoming) {
      // Else the app-server went away while it was still sending: there is nobody to answer.
      if (incoming.complete) options.onBug(error);
    },
  });

  return {
    addresses: {
      model: `${loopback.origin}/${SEGMENTS.model}`,
      account: `${loopback.origin}/${SEGMENTS.account}`,
      refresh: `${loopback.origin}/${SEGMENTS.refresh}`,
      revoke: `${loopback.origin}/${SEGMENTS.revoke}`,
    },
    profile: options.profile,
    refusedFor: (request, context) => learnt.refusedFor({ request, context }),
    open(threadId, { request, context, shape, ...listeners }) {
      const turn = { request, context };
      const relayTurn = new RelayTurn({
        threadId,
        ...turn,
        shape,
        affinity: affinityKey(turn, options.affinity),
        limits: { profile: options.profile, refuses: learnt.refusedFor(turn) },
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

const toRelayedRequest = (
  { target, path }: RelayRoute,
  { method = 'POST', headers }: IncomingMessage,
  {
    isModelRequest,
    ...rest
  }: Pick<RelayedRequest, 'apiKey' | 'body' | 'signal' | 'outgoing'> & {
    readonly isModelRequest: boolean;
  },
): RelayedRequest => ({
  ...rest,
  purpose: isModelRequest ? 'model' : 'other',
  method,
  target,
  path,
  headers,
});

/** The thread whose turn a request belongs to: a reviewer has a thread of its own, below ours. */
const turnThreadOf = (headers: IncomingHttpHeaders): string =>
  String(headers[headers['x-openai-subagent'] === 'review' ? 'x-codex-parent-thread-id' : 'thread-id']);

/** Its turn has ended: nobody would hear what the model says. */
const gone = (outgoing: ServerResponse): void => void outgoing.writeHead(410, { connection: 'close' }).end();

/** How the addresses differ. Behind one that does not say `backend-api` codex would look for other paths. */
const SEGMENTS: Readonly<Record<keyof RelayAddresses, string>> = {
  model: 'model',
  account: 'backend-api',
  refresh: 'refresh',
  revoke: 'revoke',
};

interface RelayRoute {
  readonly name: keyof RelayAddresses;
  readonly target: string;
  /** Behind the name, with its slash and query. */
  readonly path: string;
}

/** Where a request of the app-server is to go; null: nowhere. */
const routeOf = (rest: string, targets: RelayTargets): RelayRoute | null => {
  for (const name of Object.keys(SEGMENTS) as (keyof RelayAddresses)[]) {
    const target = targets[name];
    const path = rest.slice(SEGMENTS[name].length);
    // Tokens are renewed at one address; the others are where paths begin.
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
