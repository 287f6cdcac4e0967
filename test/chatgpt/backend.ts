import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';

import { openConnection, type ModelConnection } from '../../src/demo/connection.ts';
import type { Script } from '../../src/demo/model-server.ts';
import { answerPlain } from './account-routes.ts';
import { makeCertificates } from './certificate.ts';
import { Cloudflare, CLOUDFLARE_HEADERS, CLOUDFLARE_PAGE, type CloudflareSwitch } from './cloudflare.ts';
import { faultScript, type Fault } from './faults.ts';
import { Judge, type Judged } from './judge.ts';
import { writeLogin } from './login.ts';
import type { LoginOptions } from './login.ts';
import { closed, listenOn, parseObject, readText, sendJson } from './loopback-server.ts';
import { PendingFaults, type Transport } from './pending-faults.ts';
import type { Dial, ModelRequest, RecordedRequest, Violation } from './recorded.ts';
import { textOf } from './rule.ts';
import type { Confidence, RefusedAnswer } from './rule.ts';
import { turnOf } from './rules-headers.ts';
import { standardSettings } from './settings.ts';
import type { Settings } from './settings.ts';
import { SocketServer, type UpgradeFault } from './socket-server.ts';
import { asChatGptSends, limitHeaders, MODELS_ETAG, warmUp } from './stream.ts';
import { TokenService } from './token-service.ts';

/** A strict fake of the backend of a ChatGPT login. */
export interface ChatGptBackend {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  /** The value for `PROXY_CHATGPT_BASE_URL` or `chatgpt_base_url`. */
  readonly baseUrl: string;
  /** The value for `CODEX_REFRESH_TOKEN_URL_OVERRIDE`. */
  readonly tokenUrl: string;
  readonly revokeUrl: string;
  /** Only with `tls`: the certificate authority that codex has to trust. */
  readonly authority: string | null;

  /** Can be changed at any time. */
  readonly settings: Settings;
  readonly requests: readonly RecordedRequest[];
  /** POSTs and frames, in order of arrival. */
  readonly modelRequests: readonly ModelRequest[];
  /** Requests for a WebSocket. */
  readonly dials: readonly Dial[];
  /** Number of token refreshes. */
  readonly refreshes: number;
  /** Default: A and B. */
  violations(...of: readonly Confidence[]): readonly Violation[];

  /** Answers the next model requests with this script. */
  use(script: Script): void;
  /** Applies this fault to the next `times` model requests that break no rule. */
  fail(fault: Fault, times?: number, on?: Transport): void;
  /** The next `times` upgrades fail like this. */
  failUpgrade(fault: UpgradeFault, times?: number): void;
  /** Ends idle sockets with this close code, as a service does that restarts. */
  closeSockets(code: number): void;
  /** Sockets die without a close frame, all at once. */
  cutSockets(which: 'idle' | 'all'): void;
  /** Open sockets end: they would go on behind a page that is for new ones. */
  cloudflare(page: CloudflareSwitch | null): void;
  /** Invalidates all access tokens; those issued from now on work. */
  spoilTokens(how: 'expired' | 'invalidated'): void;
  /** Writes a made-up login of this backend to a `CODEX_HOME`. */
  writeLogin(dir: string, options?: LoginOptions): Promise<void>;
  /** Resets everything but the issued encrypted reasoning. */
  reset(): void;
  close(): Promise<void>;
}

export interface BackendOptions {
  readonly script: Script;
  /** Also listens for `https`, and sends codex there when it is its own provider. */
  readonly tls?: boolean;
}

const MODEL_PATH = '/backend-api/codex/responses';

export const startChatGptBackend = async (options: BackendOptions): Promise<ChatGptBackend> => {
  const settings = standardSettings();
  const tokens = new TokenService(() => settings);
  const judge = new Judge(settings, tokens);
  const faults = new PendingFaults();
  const cloudflare = new Cloudflare();
  const requests: RecordedRequest[] = [];
  let script = options.script;
  let workspaceOrigin = 'https://chatgpt.com';

  /** The model's answer to a request that breaks no rule. */
  const answerModel = async (
    { body, headers, transport }: ModelRequest,
    connection: ModelConnection,
    isReused: boolean,
  ): Promise<void> => {
    const account = tokens.accountOf(headers);
    const turnState = `turn-state-${String(judge.turnStates.size + 1)}`;
    judge.turnStates.set(turnState, turnOf(headers));
    const wrapped = asChatGptSends(connection, {
      account,
      model: textOf(body['model']),
      turnState,
      transport,
      settings,
      onIssued: (encrypted) => void judge.issued.set(encrypted, account.accountId),
    });
    const nextScript = (): Script => {
      if (body['generate'] === false) return warmUp;
      const fault = faults.next(transport, isReused);
      const context = { plan: account.plan, usedPercent: settings.primaryUsedPercent };
      return fault === null ? script : faultScript(fault, context);
    };
    await nextScript()(connection.request, wrapped);
    wrapped.open();
    connection.end();
  };

  const sockets = new SocketServer({
    settings,
    path: MODEL_PATH,
    isBlocked: (headers) => cloudflare.wouldBlock('responses', headers),
    judge: (seen) => judge.frame(seen),
    judgeUpgrade: (headers) => judge.upgrade(headers),
    headersFor: (headers) => ({
      ...limitHeaders(tokens.accountOf(headers).plan, settings.primaryUsedPercent),
      'x-models-etag': MODELS_ETAG,
    }),
    answer: ({ request }, connection, isReused) => answerModel(request, connection, isReused),
  });

  const answerPost = async (request: RecordedRequest, response: ServerResponse): Promise<void> => {
    const judged: Judged | null = request.body === null ? null : judge.post(request, request.body);
    if (cloudflare.blocks('responses', request.headers)) sendPage(response);
    else if (judged === null) sendJson(response, NO_JSON);
    else if (judged.refusal !== null) sendJson(response, judged.refusal);
    else {
      const { body, headers } = judged.request;
      const { connection } = openConnection({ body, headers }, response);
      if (settings.sseDelayMs > 0) await connection.wait(settings.sseDelayMs);
      await answerModel(judged.request, connection, false);
    }
  };

  const answerOther = async (
    request: RecordedRequest,
    query: URLSearchParams,
    text: string,
    response: ServerResponse,
  ): Promise<void> => {
    if (request.path === '/oauth/token' && cloudflare.blocks('token', request.headers)) {
      sendPage(response);
      return;
    }
    const form = request.body ?? Object.fromEntries(new URLSearchParams(text));
    const answer = answerPlain({ ...request, query, form }, { settings, tokens, workspaceOrigin });
    // Until the caller disconnects, or the server is closed.
    if (answer === 'hang') return;
    if ((answer.delayMs ?? 0) > 0) await sleep(answer.delayMs);
    sendJson(response, answer, answer.headers);
  };

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(incoming.url ?? '/', 'http://127.0.0.1');
    const text = await readText(incoming);
    const request = {
      method: incoming.method ?? '',
      path: url.pathname,
      headers: incoming.headers,
      body: parseObject(text),
    };
    requests.push(request);
    if (`${request.method} ${request.path}` === `POST ${MODEL_PATH}`) await answerPost(request, response);
    else await answerOther(request, url.searchParams, text, response);
  };

  const onRequest = (incoming: IncomingMessage, response: ServerResponse): void => {
    handle(incoming, response).catch((error: unknown) => {
      // A disconnected caller is not an error of the fake.
      if (incoming.complete && !response.destroyed) process.emitWarning(String(error), 'ImitationWarning');
      response.destroy();
    });
  };

  const certificates = options.tls === true ? makeCertificates() : null;
  const plain = createHttpServer(onRequest);
  const secure =
    certificates === null
      ? null
      : createHttpsServer({ cert: certificates.certificate, key: certificates.key }, onRequest);
  for (const server of [plain, secure]) if (server !== null) sockets.attach(server);
  const origin = `http://127.0.0.1:${String(await listenOn(plain))}`;
  if (secure !== null) workspaceOrigin = `https://127.0.0.1:${String(await listenOn(secure))}`;

  return {
    origin,
    baseUrl: `${origin}/backend-api`,
    tokenUrl: `${origin}/oauth/token`,
    revokeUrl: `${origin}/oauth/revoke`,
    authority: certificates?.authority ?? null,
    settings,
    requests,
    modelRequests: judge.modelRequests,
    dials: sockets.dials,
    get refreshes() {
      return tokens.refreshes;
    },
    violations: (...of) =>
      judge.violations.filter(({ confidence }) => (of.length === 0 ? ['A', 'B'] : of).includes(confidence)),
    use(next) {
      script = next;
    },
    fail: (fault, times = Infinity, on) => faults.add(fault, times, on ?? 'both'),
    failUpgrade: (fault, times = Infinity) => sockets.fail(fault, times),
    closeSockets: (code) => sockets.closeIdle(code),
    cutSockets: (which) => sockets.cut(which),
    cloudflare(page) {
      cloudflare.use(page);
      if (page !== null && page.on !== 'token') sockets.cut('all');
    },
    spoilTokens: (how) => tokens.spoil(how),
    async writeLogin(dir, login = {}) {
      tokens.accept(await writeLogin(dir, login));
    },
    reset() {
      Object.assign(settings, standardSettings());
      tokens.reset();
      requests.length = 0;
      judge.reset();
      sockets.reset();
      script = options.script;
      faults.clear();
      cloudflare.use(null);
    },
    async close() {
      sockets.close();
      await Promise.all([plain, ...(secure === null ? [] : [secure])].map(closed));
    },
  };
};

const NO_JSON: RefusedAnswer = { status: 400, body: { detail: 'Bad Request' } };

const sendPage = (response: ServerResponse): void => {
  response.writeHead(403, CLOUDFLARE_HEADERS);
  response.end(CLOUDFLARE_PAGE);
};
