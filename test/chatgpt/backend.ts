import { createServer as createHttpServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';

import { openConnection } from '../../src/demo/connection.ts';
import type { Script } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { answerPlain } from './account-routes.ts';
import { makeCertificates } from './certificate.ts';
import { CLOUDFLARE_COOKIE, CLOUDFLARE_HEADERS, CLOUDFLARE_PAGE, faultScript } from './faults.ts';
import type { CloudflareSwitch, Fault } from './faults.ts';
import { writeLogin } from './login.ts';
import type { LoginOptions } from './login.ts';
import { closed, listenOn, parseObject, readText, sendJson } from './loopback-server.ts';
import { textOf } from './rule.ts';
import type { Confidence, RequestFormat, RefusedAnswer } from './rule.ts';
import { turnOf } from './rules-headers.ts';
import { brokenRules, refusalOf } from './rules.ts';
import { standardSettings } from './settings.ts';
import type { Settings } from './settings.ts';
import { asChatGptSends } from './stream.ts';
import { TokenService } from './token-service.ts';

/** Any request received, in order of arrival. */
export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Null if missing or not JSON. */
  readonly body: JsonObject | null;
}

export interface ModelRequest extends RecordedRequest {
  readonly body: JsonObject;
  readonly requestFormat: RequestFormat;
  /** Ids of all broken rules, including those that can only be found by trying. */
  readonly broken: readonly string[];
}

export interface Violation {
  readonly rule: string;
  readonly confidence: Confidence;
  readonly request: ModelRequest;
}

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
  readonly modelRequests: readonly ModelRequest[];
  /** Number of token refreshes. */
  readonly refreshes: number;
  /** Default: A and B. */
  violations(...of: readonly Confidence[]): readonly Violation[];

  /** Answers the next model requests with this script. */
  use(script: Script): void;
  /** Applies this fault to the next `times` model requests that break no rule. */
  fail(fault: Fault, times?: number): void;
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
const LITE_HEADER = 'x-openai-internal-codex-responses-lite';

interface Pending {
  readonly fault: Fault;
  left: number;
}

export const startChatGptBackend = async (options: BackendOptions): Promise<ChatGptBackend> => {
  const settings = standardSettings();
  const tokens = new TokenService(() => settings);
  const issued = new Set<string>();
  const turnStates = new Map<string, string>();
  const requests: RecordedRequest[] = [];
  const modelRequests: ModelRequest[] = [];
  const violations: Violation[] = [];
  let script = options.script;
  let faults: Pending[] = [];
  let page: (CloudflareSwitch & { left: number }) | null = null;
  let workspaceOrigin = 'https://chatgpt.com';

  const judge = (request: RecordedRequest, body: JsonObject): RefusedAnswer | null => {
    const requestFormat = request.headers[LITE_HEADER] === 'true' ? 'codex' : 'responses';
    const broken = brokenRules({
      body,
      headers: request.headers,
      requestFormat,
      model: textOf(body['model']),
      settings,
      memory: { issued, turnStates },
    });
    const recorded = { ...request, body, requestFormat, broken: broken.map(({ rule }) => rule.id) } as const;
    modelRequests.push(recorded);
    for (const { rule } of broken) {
      if (rule.onlyFoundByTrying !== true)
        violations.push({ rule: rule.id, confidence: rule.confidence, request: recorded });
    }
    return tokens.refusal(request.headers) ?? refusalOf(broken);
  };

  const isBlocked = (on: 'responses' | 'token', headers: IncomingHttpHeaders): boolean => {
    if (page === null || (page.on !== on && page.on !== 'both') || page.left === 0) return false;
    if (page.passesWithCookie === true && (headers.cookie ?? '').includes(CLOUDFLARE_COOKIE)) return false;
    page.left -= 1;
    return true;
  };

  const nextFault = (): Fault | null => {
    const pending = faults[0];
    if (pending === undefined) return null;
    pending.left -= 1;
    if (pending.left <= 0) faults.shift();
    return pending.fault;
  };

  const answerModel = async (request: RecordedRequest, response: ServerResponse): Promise<void> => {
    const refusal = request.body === null ? NO_JSON : judge(request, request.body);
    if (isBlocked('responses', request.headers)) {
      sendPage(response);
      return;
    }
    if (refusal !== null || request.body === null) {
      sendJson(response, refusal ?? NO_JSON);
      return;
    }
    const account = tokens.accountOf(request.headers);
    const { connection } = openConnection({ body: request.body, headers: request.headers }, response);
    const turnState = `turn-state-${String(turnStates.size + 1)}`;
    turnStates.set(turnState, turnOf(request.headers));
    const wrapped = asChatGptSends(connection, {
      account,
      model: textOf(request.body['model']),
      turnState,
      onIssued: (encrypted) => void issued.add(encrypted),
    });
    const fault = nextFault();
    const run = fault === null ? script : faultScript(fault, account.plan);
    await run(connection.request, wrapped);
    wrapped.open();
    connection.end();
  };

  const answerOther = async (
    request: RecordedRequest,
    query: URLSearchParams,
    text: string,
    response: ServerResponse,
  ): Promise<void> => {
    if (request.path === '/oauth/token' && isBlocked('token', request.headers)) {
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
    if (`${request.method} ${request.path}` === `POST ${MODEL_PATH}`) await answerModel(request, response);
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
    modelRequests,
    get refreshes() {
      return tokens.refreshes;
    },
    violations: (...of) =>
      violations.filter(({ confidence }) => (of.length === 0 ? ['A', 'B'] : of).includes(confidence)),
    use(next) {
      script = next;
    },
    fail(fault, times = Infinity) {
      faults.push({ fault, left: times });
    },
    cloudflare(next) {
      page = next === null ? null : { ...next, left: next.times ?? Infinity };
    },
    spoilTokens: (how) => tokens.spoil(how),
    async writeLogin(dir, login = {}) {
      tokens.accept(await writeLogin(dir, login));
    },
    reset() {
      Object.assign(settings, standardSettings());
      tokens.reset();
      requests.length = 0;
      modelRequests.length = 0;
      violations.length = 0;
      script = options.script;
      faults = [];
      page = null;
    },
    async close() {
      await Promise.all([plain, ...(secure === null ? [] : [secure])].map(closed));
    },
  };
};

const NO_JSON: RefusedAnswer = { status: 400, body: { detail: 'Bad Request' } };

const sendPage = (response: ServerResponse): void => {
  response.writeHead(403, CLOUDFLARE_HEADERS);
  response.end(CLOUDFLARE_PAGE);
};
