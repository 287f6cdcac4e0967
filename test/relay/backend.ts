import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

import { Agent } from 'undici';

import { afterEach, expect } from 'vitest';

import type { Failure } from '../../src/canonical/failure/failure.ts';
import type { TurnContext } from '../../src/canonical/context/turn-context.ts';
import type { TurnRequest } from '../../src/canonical/request/turn-request.ts';
import { Refusals } from '../../src/codex/capabilities/refusals.ts';
import type { HeldTurnHandle, RelayTurnHandle } from '../../src/codex/relay/server/held-turns.ts';
import { profileOf } from '../../src/codex/capabilities/profile.ts';
import type { RequestShape } from '../../src/codex/relay/request/edits.ts';
import type { McpShape } from '../../src/codex/relay/request/mcp-namespaces.ts';
import type { ExpectedTurn } from '../../src/codex/relay/server/held-turn.ts';
import { startRelay, type Relay, type RelayOptions } from '../../src/codex/relay/server/relay.ts';
import { isJsonObject, listIn } from '../../src/kit/json/json.ts';
import { httpTransport } from '../../src/codex/relay/transport/http-transport.ts';
import { systemAmbient } from '../../src/kit/ambient.ts';
import type { UpstreamEvent } from '../../src/codex/sources/source.ts';
import { cacheIds } from '../support/cache-ids.ts';
import { SHAPE } from '../support/edited.ts';
import { NO_LOGIN } from '../support/no-login.ts';
import { turnContext, turnRequest } from '../support/turn-request.ts';

/** A request as it arrived at the backend, byte for byte. */
export interface ConnectionInfo {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The other side disconnected before the answer was complete. */
  aborted: boolean;
}

export type Answer = (response: ServerResponse, connectionInfo: ConnectionInfo, nth: number) => void;

export interface BackendTarget {
  readonly url: string;
  readonly arrivals: readonly ConnectionInfo[];
  readonly sockets: ReadonlySet<Socket>;
  close(): Promise<void>;
}

/** A backend that does what a test requires, and records what it received. */
export const startBackend = async (answer: Answer): Promise<BackendTarget> => {
  const arrivals: ConnectionInfo[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const { method = '', url = '', headers } = incoming;
      const connectionInfo = { method, url, headers, body: Buffer.concat(chunks), aborted: false };
      arrivals.push(connectionInfo);
      response.on('close', () => {
        connectionInfo.aborted = !response.writableFinished;
      });
      answer(response, connectionInfo, arrivals.length);
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    arrivals,
    sockets,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

export interface Noted {
  readonly retries: string[];
  readonly learnt: string[];
  /** Why model requests were not sent. */
  readonly lost: string[];
  /** Items that codex added, request by request. */
  readonly added: number[];
  readonly bugs: unknown[];
  unplaced: number;
  /** Counts of Cloudflare pages, and of answers of the backend. */
  blocked: number;
  served: number;
  renewalsHeld: number;
}

export interface OpenTurn {
  readonly relayTurn: RelayTurnHandle;
  readonly held: HeldTurnHandle;
  /** How answers began and ended. */
  readonly events: readonly UpstreamEvent[];
  /** Why the last request or answer failed. */
  refused(): Failure | null;
}

export interface HeldTest {
  readonly held: HeldTurnHandle;
  /** How often the relay said that the turn cannot continue. */
  losses(): number;
  /** `isBegun`: the answers already have a reader. */
  claim(
    request?: Partial<TurnRequest>,
    isBegun?: boolean,
    context?: Partial<TurnContext>,
    shape?: Partial<RequestShape>,
    session?: string,
  ): OpenTurn;
}

export interface TestRelay {
  readonly relay: Relay;
  readonly backend: BackendTarget;
  readonly noted: Noted;
  /** A turn that no client waits for yet. The app-server has not started it. */
  hold(threadId: string, expected?: Partial<ExpectedTurn>): HeldTest;
  /** A turn that was started and claimed, and what the relay reports about it. */
  open(threadId: string, ...claim: Parameters<HeldTest['claim']>): OpenTurn;
  /** Such a turn in which the app-server runs tools, so that it gets every answer as it comes. */
  openWithTools(threadId: string, context?: Partial<TurnContext>): OpenTurn;
  /** Like the app-server. */
  post(threadId: string | null, body: unknown, init?: RequestInit): Promise<Response>;
  close(): Promise<void>;
}

const NO_SERVERS: McpShape = {
  offered: () => undefined,
  offersResource: () => false,
  isLimitReached: () => false,
};

export const startTestRelay = async (
  answer: Answer,
  options: Partial<RelayOptions> | ((url: string) => Partial<RelayOptions>) = {},
): Promise<TestRelay> => {
  const backend = await startBackend(answer);
  const dispatcher = new Agent();
  const noted: Noted = {
    retries: [],
    lost: [],
    added: [],
    learnt: [],
    bugs: [],
    unplaced: 0,
    blocked: 0,
    served: 0,
    renewalsHeld: 0,
  };
  const own = typeof options === 'function' ? options(backend.url) : options;
  const relay = await startRelay({
    clock: systemAmbient.clock,
    targets: { model: backend.url, account: null, refresh: null, revoke: null, authApi: null },
    apiKey: null,
    dispatcher,
    transport: httpTransport({ dispatcher, freshDispatcher: dispatcher, cookies: own.cookies ?? null }),
    idleTimeoutMs: 60_000,
    firstEventTimeoutMs: null,
    onSending() {},
    onFirstEventLate() {},
    profile: profileOf({ kind: 'upstream', baseUrl: backend.url, apiKeyEnv: null }, null),
    refusals: new Refusals(systemAmbient.clock),
    affinity: { cacheIds, cacheKeys: 'any' },
    onRetry: (reason) => noted.retries.push(reason),
    onLearnt: (model, field) => noted.learnt.push(`${model} ${field}`),
    onFirstByte() {},
    mintCallId: () => 'call_ours',
    cookies: null,
    onBlocked() {
      noted.blocked += 1;
    },
    onServed() {
      noted.served += 1;
    },
    onUnplaced() {
      noted.unplaced += 1;
    },
    onAdded: (items) => noted.added.push(items),
    onForeignTools() {},
    onLost: (reason) => noted.lost.push(reason),
    login: NO_LOGIN,
    onRenewalThrottled() {
      noted.renewalsHeld += 1;
    },
    onBug: (error) => noted.bugs.push(error),
    ...own,
  });
  const hold: TestRelay['hold'] = (threadId, expected = {}) => {
    let losses = 0;
    const held = relay.expect({
      threadId,
      slug: 'gpt-5.5',
      placeholder: PLACEHOLDER,
      isFirstOfThread: true,
      onLost() {
        losses += 1;
      },
      ...expected,
    });
    const claim: HeldTest['claim'] = (
      request = {},
      isBegun = true,
      context = {},
      shape = {},
      session = `id-of-${context.conversation ?? 'conversation'}`,
    ) => {
      const events: UpstreamEvent[] = [];
      let refused: Failure | null = null;
      const relayTurn = held.claim({
        request: turnRequest(request),
        context: turnContext(context),
        session,
        shape: { ...SHAPE, ...shape },
        onUpstreamEvent(signal) {
          if (signal.kind === 'answer-started') refused = null;
          if (signal.kind === 'refused') refused = signal.failure;
          else if (signal.kind !== 'answer-said') events.push(signal);
        },
        onActivity() {},
      });
      if (isBegun) relayTurn.begin();
      return { relayTurn, held, events, refused: () => refused };
    };
    return { held, claim, losses: () => losses };
  };
  const open: TestRelay['open'] = (threadId, ...claim) => {
    const test = hold(threadId);
    test.held.started(TURN_ID);
    return test.claim(...claim);
  };
  return {
    relay,
    backend,
    noted,
    hold,
    open,
    openWithTools: (threadId, context = {}) => open(threadId, {}, true, context, { mcp: NO_SERVERS }),
    post: (threadId, body, init = {}) =>
      fetch(`${relay.addresses.model}/responses`, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(withPlaceholder(body)),
        ...init,
        headers: {
          ...appServerHeaders(threadId),
          ...(init.headers as Record<string, string> | undefined),
        },
      }),
    async close() {
      await relay.close();
      await dispatcher.destroy();
      await backend.close();
    },
  };
};

/** The app-server's id of every turn, and of the item in place of its conversation. */
export const TURN_ID = 'turn-1';
export const PLACEHOLDER = 'px_1';

/** The headers of a model request of a turn in this thread. */
export const appServerHeaders = (threadId: string | null): Record<string, string> => ({
  'content-type': 'application/json',
  'x-codex-turn-metadata': JSON.stringify({ request_kind: 'turn', turn_id: TURN_ID }),
  ...(threadId === null ? {} : { 'thread-id': threadId, 'session-id': threadId }),
});

/** The body with a placeholder at the start of its input, as the app-server sends it. */
export const withPlaceholder = (body: unknown): unknown => {
  if (!isJsonObject(body)) return body;
  return { ...body, input: [{ type: 'message', id: PLACEHOLDER }, ...listIn(body, 'input')] };
};

/** A new relay for each test, in which nothing may have thrown. */
export const freshRelays = (): typeof startTestRelay => {
  const started: TestRelay[] = [];
  afterEach(async () => {
    for (const test of started.splice(0)) {
      expect(test.noted.bugs).toEqual([]);
      await test.close();
    }
  });
  return async (...args) => {
    const test = await startTestRelay(...args);
    started.push(test);
    return test;
  };
};

export const parsed = (connectionInfo: ConnectionInfo | undefined): Record<string, unknown> =>
  JSON.parse(connectionInfo?.body.toString('utf8') ?? 'null') as Record<string, unknown>;

/** Resolves when the only request to this backend was aborted. */
export const closed = async (backend: BackendTarget): Promise<void> => {
  await expect.poll(() => backend.arrivals.map(({ aborted }) => aborted)).toEqual([true]);
};

/** The events of an empty answer. */
export const WHOLE: readonly UpstreamEvent[] = [
  { kind: 'answer-started' },
  { kind: 'answer-ended', how: 'completed', response: { id: 'resp_1' } },
];

/** The smallest complete answer. */
export const completed: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(
    'event: response.completed\ndata: {"type":"response.completed","response":{"id":"resp_1"}}\n\n',
  );
};

export const status =
  (code: number, body: unknown = {}, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

/** The first request gets the first answer, and so on; the last one repeats. */
export const inTurn =
  (...answers: readonly [Answer, ...Answer[]]): Answer =>
  (response, connectionInfo, nth) =>
    (answers[Math.min(nth, answers.length) - 1] ?? answers[0])(response, connectionInfo, nth);
