import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { gatewayError, GatewayError } from '../../canonical/failure/failure.ts';
import type { Ambient } from '../../kit/ambient.ts';
import { within } from '../../kit/async/wait.ts';
import { forgetOldest } from '../../kit/collections/recent.ts';
import { quoted } from '../../kit/text/display.ts';
import { readIfPresent, exists } from '../../codex/home/files.ts';
import { readLoginFile, replaceLogin } from '../../codex/home/login-file.ts';
import type { KeptLogin } from '../../codex/home/login-store.ts';
import type { CompletedLogin } from '../../codex/protocol/methods.ts';
import { readLogin } from '../../codex/login/read-login.ts';
import { UntrustedPath } from '../../codex/home/trusted-path.ts';
import { RequestTimeout, RpcError } from '../../codex/rpc/errors.ts';
import { hideTokens } from '../../kit/text/hide-secrets.ts';
import { signInError } from './failures.ts';
import type { AppServerOptions } from '../../codex/app-server.ts';
import type { CodexBinary } from '../../codex/binary.ts';
import { childEnvironment, type Environment } from '../../codex/home/environment.ts';
import { startWorker, type Worker } from '../../codex/worker/worker.ts';
import { chosenForSignIn, openScratchHome } from '../../codex/login/scratch-home.ts';

interface LoginAppServerOptions extends Pick<
  AppServerOptions,
  'clientInfo' | 'initializeTimeoutMs' | 'onLoginCompleted'
> {
  readonly binary: CodexBinary;
  readonly stateDir: string;
  readonly environment: Environment;
  /** The `auth.json` that it starts with; absent: none. */
  readonly auth?: string;
}

/** An app-server that only signs in or out, in a temporary home that is removed when it has stopped. */
interface LoginAppServer {
  readonly worker: Worker;
  /** Where codex writes the login. */
  readonly authFile: string;
}

const startLoginAppServer = async (options: LoginAppServerOptions): Promise<LoginAppServer> => {
  const { binary, stateDir, environment, auth, ...client } = options;
  const home = await openScratchHome(stateDir);
  const authFile = path.join(home.path, 'auth.json');
  try {
    if (auth !== undefined) await writeFile(authFile, auth, { mode: 0o600 });
  } catch (error) {
    await home.remove();
    throw error;
  }
  const worker = await startWorker({
    ...client,
    binaryPath: binary.path,
    // It opens no browser, so it needs no more than a worker.
    environment: childEnvironment(environment, {
      codexHome: home.path,
      apiKeyEnv: null,
      certificateFile: null,
      login: chosenForSignIn(environment),
    }),
    cwd: home.path,
    hasHome: () => exists(authFile),
    // It may quote an answer of the issuer.
    onStderr: () => {},
    onListenerError: () => {},
    cleanUp: () => home.remove(),
  });
  return { worker, authFile };
};

/** `device`: the user enters a code on a page, in any browser. `browser`: a browser on the machine of the server. */
type SignInMethod = 'device' | 'browser';

type SignInStatus = 'pending' | 'succeeded' | 'failed' | 'cancelled' | 'expired';

/** A sign-in to the account of the backend that needs no terminal. It never contains a token. */
/** Where the user signs in. */
interface SignInPages {
  /** The page where the user enters `userCode`; null if the method is `browser`. */
  readonly verificationUrl: string | null;
  readonly userCode: string | null;
  /** The page to open on the machine of the server; null if the method is `device`. */
  readonly authUrl: string | null;
}

export interface SignInSession extends SignInPages {
  readonly id: string;
  readonly method: SignInMethod;
  readonly status: SignInStatus;
  /** Why it failed, as a sentence. */
  readonly error: string | null;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  readonly expiresAt: number;
}

export interface SignInSessionsOptions extends Pick<
  LoginAppServerOptions,
  'binary' | 'stateDir' | 'environment' | 'clientInfo' | 'initializeTimeoutMs'
> {
  /** Where `auth.json` is kept. */
  readonly loginHome: string;
  readonly login: Pick<KeptLogin, 'collect'>;
  readonly ambient: Ambient;
  /** Called when `auth.json` was written or removed. Must not reject. Resolves when the server uses the change. */
  readonly onChange: () => Promise<void>;
  /** Called if codex could not sign in or out, with the whole reason. */
  readonly onTrouble: (error: unknown) => void;
  /** Called when a sign-in has ended. */
  readonly onEnd: (session: SignInSession) => void;
  /** How long the user has. */
  readonly timeLimitMs?: number;
  readonly requestTimeoutMs?: number;
}

/** The codes of OpenAI are valid for 15 minutes. */
const TIME_LIMIT_MS = 15 * 60_000;
/** Of one call of the app-server, which asks the issuer. */
const REQUEST_TIMEOUT_MS = 30_000;
/** How long the end of a sign-in waits until the server uses the login. */
const CHANGE_MS = 10_000;
/** How long the end of the server waits for an app-server that is being started. */
const OPENING_MS = 5_000;
const MAX_REMEMBERED = 8;

interface PendingSignIn {
  readonly id: string;
  readonly server: LoginAppServer;
  readonly timer: NodeJS.Timeout;
}

/**
 * Signs in and out with an app-server of its own, in a temporary home: a sign-in that fails changes nothing. Only the
 * finished login is moved to the login home.
 */
export class SignInSessions {
  readonly #options: SignInSessionsOptions;
  readonly #sessions = new Map<string, SignInSession>();
  #pending: PendingSignIn | null = null;
  #isStarting = false;
  #isClosed = false;
  /** App-servers that run, and those that are being started. */
  readonly #servers = new Set<LoginAppServer>();
  readonly #opening = new Set<Promise<unknown>>();
  /** The end of the processes that were stopped. */
  #stopped: Promise<unknown> = Promise.resolve();

  constructor(options: SignInSessionsOptions) {
    this.#options = options;
  }

  /** The last ones, the newest first. */
  list(): readonly SignInSession[] {
    return [...this.#sessions.values()].toReversed();
  }

  /** Throws `unknown_sign_in`. */
  find(id: string): SignInSession {
    const found = this.#sessions.get(id);
    if (found === undefined) throw unknownSignIn(id);
    return found;
  }

  /** Resolves when the user can begin. Rejects with `sign_in_pending` or `sign_in_failed`. */
  async start(method: SignInMethod): Promise<SignInSession> {
    if (this.#isClosed) throw gatewayError('shutting_down');
    if (this.#isStarting || this.#pending !== null) throw signInError('sign_in_pending');
    this.#isStarting = true;
    try {
      // The process before may still have the port of the browser's callback.
      await this.#stopped;
      return await this.#begin(method);
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      this.#options.onTrouble(error);
      throw couldNotStart(error);
    } finally {
      this.#isStarting = false;
    }
  }

  /** Has no effect on one that has ended. Throws `unknown_sign_in`. */
  cancel(id: string): SignInSession {
    this.find(id);
    this.#end(id, { status: 'cancelled' });
    return this.find(id);
  }

  /** Revokes the login at its issuer, if that can be reached, and removes it. Rejects with `sign_out_failed`. */
  async signOut(): Promise<void> {
    const { loginHome, login, onChange } = this.#options;
    const file = path.join(loginHome, 'auth.json');
    // The issuer revokes the token that is in use, which an app-server may have renewed.
    await login.collect();
    const found = await readLoginFile(file);
    if (found.kind === 'missing') return;
    if (found.kind === 'refused')
      throw signInError('sign_out_failed', { message: `${found.why} Delete it to sign out.` });
    try {
      await this.#revoke(found.text);
    } catch (error) {
      this.#options.onTrouble(error);
      throw couldNotSignOut(file, error);
    }
    await rm(file, { force: true });
    await within(onChange(), CHANGE_MS);
  }

  /** Ends everything that is under way, and resolves when no process is left. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#pending !== null) this.#end(this.#pending.id, { status: 'cancelled' });
    for (const server of this.#servers) this.#stop(server);
    await within(Promise.allSettled(this.#opening), OPENING_MS);
    await this.#stopped;
  }

  async #begin(method: SignInMethod): Promise<SignInSession> {
    const { ambient, timeLimitMs = TIME_LIMIT_MS } = this.#options;
    const id = ambient.ids.mint('login');
    let completed: CompletedLogin | null = null;
    const server = await this.#open({
      onLoginCompleted: (login) => {
        completed = login;
        void this.#complete(id, login);
      },
    });
    try {
      const asked = await this.#ask(server, method);
      const createdAt = ambient.clock.now();
      this.#remember({
        ...asked,
        id,
        method,
        status: 'pending',
        error: null,
        createdAt,
        expiresAt: createdAt + timeLimitMs,
      });
    } catch (error) {
      this.#stop(server);
      throw error;
    }
    const timer = setTimeout(() => this.#end(id, { status: 'expired' }), timeLimitMs);
    timer.unref();
    this.#pending = { id, server, timer };
    const { lost } = server.worker;
    const onLost = (): void => this.#end(id, { status: 'failed', error: PROCESS_ENDED });
    lost.addEventListener('abort', onLost, { once: true });
    if (this.#isClosed) this.#end(id, { status: 'cancelled' });
    else if (lost.aborted) onLost();
    // It may have been sent together with the answer.
    else if (completed !== null) void this.#complete(id, completed);
    return this.find(id);
  }

  async #ask({ worker }: LoginAppServer, method: SignInMethod): Promise<SignInPages> {
    const timeoutMs = this.#options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
    const type = method === 'device' ? 'chatgptDeviceCode' : 'chatgpt';
    const answer = await worker.appServer.request('account/login/start', { type }, { timeoutMs });
    if (answer.type === 'chatgptDeviceCode') {
      return { verificationUrl: webUrl(answer.verificationUrl), userCode: answer.userCode, authUrl: null };
    }
    if (answer.type === 'chatgpt')
      return { verificationUrl: null, userCode: null, authUrl: webUrl(answer.authUrl) };
    throw new Error(`the app-server answered with another kind of login: ${answer.type}`);
  }

  /**
   * The file decides. After signing in, codex asks the account's service for the workspace and reports a failure if that
   * cannot be reached, although the login is complete; and it reports success if anything opened its success page.
   */
  async #complete(id: string, { success, error }: CompletedLogin): Promise<void> {
    const pending = this.#take(id);
    if (pending === null) return;
    const { loginHome, onChange } = this.#options;
    try {
      const auth = await readIfPresent(pending.server.authFile);
      if (auth === null || readLogin(auth) === null) {
        this.#settle(pending, { status: 'failed', error: success ? NO_LOGIN : reasonOf(error) });
        return;
      }
      // A user's folder keeps its permissions; a new one is for this user only.
      await mkdir(loginHome, { recursive: true, mode: 0o700 });
      await replaceLogin(path.join(loginHome, 'auth.json'), auth);
      await within(onChange(), CHANGE_MS);
      this.#settle(pending, { status: 'succeeded' });
    } catch (cause) {
      this.#settle(pending, { status: 'failed', error: couldNotSave(loginHome, cause) });
    }
  }

  #end(id: string, outcome: Outcome): void {
    const pending = this.#take(id);
    if (pending !== null) this.#settle(pending, outcome);
  }

  /** Of several ends only the first one counts. */
  #take(id: string): PendingSignIn | null {
    const pending = this.#pending;
    if (pending?.id !== id) return null;
    this.#pending = null;
    clearTimeout(pending.timer);
    return pending;
  }

  #settle({ id, server }: PendingSignIn, outcome: Outcome): void {
    this.#stop(server);
    const session = { ...this.find(id), ...outcome };
    this.#remember(session);
    this.#options.onEnd(session);
  }

  /** Starts an app-server, which `close` stops whatever it is asked. */
  #open(how: Pick<LoginAppServerOptions, 'auth' | 'onLoginCompleted'>): Promise<LoginAppServer> {
    const { onEnd: _, onChange: __, ...options } = this.#options;
    const opening = startLoginAppServer({ ...options, ...how }).then((server) => {
      this.#servers.add(server);
      if (!this.#isClosed) return server;
      this.#stop(server);
      throw gatewayError('shutting_down');
    });
    this.#opening.add(opening);
    const forget = (): unknown => this.#opening.delete(opening);
    void opening.then(forget, forget);
    return opening;
  }

  #stop(server: LoginAppServer): void {
    this.#servers.delete(server);
    this.#stopped = Promise.allSettled([this.#stopped, server.worker.stop()]).then(() => undefined);
  }

  #remember(session: SignInSession): void {
    this.#sessions.set(session.id, session);
    forgetOldest(this.#sessions, MAX_REMEMBERED);
  }

  async #revoke(auth: string): Promise<void> {
    const timeoutMs = this.#options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
    const server = await this.#open({ auth });
    try {
      await server.worker.appServer.request('account/logout', undefined, { timeoutMs });
    } finally {
      this.#stop(server);
    }
  }
}

interface Outcome {
  readonly status: SignInStatus;
  readonly error?: string | null;
}

/** Users open it in their browsers: an address such as `javascript:` must not get there. */
const webUrl = (url: string): string => {
  const protocol = URL.parse(url)?.protocol;
  if (protocol === 'https:' || protocol === 'http:') return url;
  throw new Error('the app-server answered with an address that is not one of a web page');
};

const unknownSignIn = (id: string): GatewayError =>
  signInError('unknown_sign_in', { message: `Sign-in with id '${quoted(id)}' not found.` });

const PROCESS_ENDED = 'The codex process ended before the sign-in was complete. Start again.';

/** Any web page can open the success page of codex, which ends the sign-in. */
const NO_LOGIN =
  'The success page was opened before the sign-in was complete. Start again, or sign in with a device code.';

const NETWORK =
  'If auth.openai.com cannot be reached from the server, set HTTPS_PROXY there, and SSL_CERT_FILE for certificates.';

const MAX_REASON = 300;

/** What codex or the system says about a failure, as a short sentence without tokens. */
const reasonOf = (cause: unknown): string => {
  const text = cause instanceof Error ? cause.message : typeof cause === 'string' ? cause : '';
  const line = hideTokens(text.slice(0, 10 * MAX_REASON))
    .replaceAll(/\b(rt_|sk-|at-)[\w-]{6,}/g, '$1***')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const short = line.length > MAX_REASON ? `${line.slice(0, MAX_REASON).toWellFormed()}…` : line;
  if (short === '') return 'codex gave no reason.';
  return /[.…!?]$/.test(short) ? short : `${short}.`;
};

const couldNotStart = (cause: unknown): GatewayError =>
  signInError('sign_in_failed', { message: `The sign-in could not be started: ${startReason(cause)}` });

const couldNotSignOut = (file: string, cause: unknown): GatewayError =>
  signInError('sign_out_failed', {
    message: `Still signed in: ${reasonOf(cause)} Delete ${file} to sign out on this machine only.`,
  });

const startReason = (cause: unknown): string => {
  if (cause instanceof UntrustedPath) return reasonOf(cause);
  if (cause instanceof RpcError) return `${reasonOf(cause)} ${NETWORK}`;
  if (cause instanceof RequestTimeout) return `codex did not answer in time. ${NETWORK}`;
  return 'the codex process did not start. The log of the server says why.';
};

const couldNotSave = (loginHome: string, cause: unknown): string =>
  `The login could not be saved in ${loginHome}: ${reasonOf(cause)}`;
