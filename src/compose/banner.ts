import type { PresentToken } from '../codex/login/login-watch.ts';
import { TOKEN_ENDS_SOON_MS } from '../codex/login/read-login.ts';
import { assertNever } from '../kit/assert-never.ts';
import { shownTime, shellQuoted } from '../kit/text/display.ts';
import type { AboutServer } from '../http/front.ts';
import type { OwnKey } from '../http/guards/own-secrets.ts';

/** The key as the banner shows it. A key is shown only by the start that created it. */
export const shownKey = (own: OwnKey | null, platform: string): BannerFacts['key'] => {
  if (own === null) return { description: 'one of PROXY_API_KEY', inCommand: '<key>' };
  if (own.isNew)
    return { description: `${own.key} (shown this once; kept in ${own.file})`, inCommand: own.key };
  const read = platform === 'win32' ? 'Get-Content' : 'cat';
  return {
    description: `in the file ${own.file}`,
    inCommand: `$(${read} ${shellQuoted(own.file, platform)})`,
  };
};

/** The facts for the page in a browser. It never shows the key; paths and addresses only on this machine. */
export const aboutServer = (state: BackendState, own: OwnKey | null, isLocal: boolean): AboutServer => {
  const key = shownKey(own === null ? null : { ...own, isNew: false }, process.platform);
  if (isLocal) return { backend: describeState(state), key: key.description, keyInCommand: key.inCommand };
  const where = own === null ? 'one of PROXY_API_KEY' : 'in the file api-key of its state directory';
  return {
    backend: withoutAddress(state),
    key: `ask the operator of this server: ${where}`,
    keyInCommand: '<key>',
  };
};

const withoutAddress = (state: BackendState): string => {
  switch (state.kind) {
    case 'upstream':
      return 'a provider';
    case 'login':
      return `a Codex login (${loginName(state)})`;
    case 'demo':
    case 'signed-out':
      return describeState(state);
    default:
      return assertNever(state);
  }
};

/** The backend's state, as far as users need it. */
export type BackendState =
  | { readonly kind: 'upstream'; readonly baseUrl: string }
  | {
      readonly kind: 'login';
      readonly login: 'chatgpt' | 'api-key';
      readonly home: string;
      /** Null: the login is another one. */
      readonly accessToken: PresentToken | null;
    }
  | { readonly kind: 'demo' }
  /** Requests get `sign_in_required`. `isNamed`: the folder is a configured CODEX_HOME. */
  | { readonly kind: 'signed-out'; readonly home: string; readonly isNamed: boolean };

export interface BannerFacts {
  readonly url: string;
  /** The key as shown to users, and as used on a command line. */
  readonly key: { readonly description: string; readonly inCommand: string };
  readonly state: BackendState;
  /** The default model of the backend; null: unknown. */
  readonly model: string | null;
  /** How a ChatGPT login reaches its backend; null: as codex chooses. */
  readonly transport: 'auto' | 'websocket' | 'http' | null;
  /** Where answers are stored. */
  readonly store: string;
  readonly hasConsole: boolean;
  readonly now: Date;
  /** The directory of captures; null if off. */
  readonly captureDir: string | null;
  /** Command lines that work in the user's directory. */
  readonly commands: { readonly login: string; readonly doctor: string };
  /** Settings that the doctor needs, without values. */
  readonly secretSettings: readonly string[];
}

/** Where a browser on this machine opens the console, which is not served at the address that means all addresses. */
const consoleOf = (url: string): string =>
  `${url.replace(/(?<=\/\/)(?:0\.0\.0\.0|\[::\])(?=:)/, '127.0.0.1')}/console`;

/** The text shown at the start: the backend, the address, the key, and a first request. */
export const banner = ({
  url,
  key,
  state,
  model,
  transport,
  store,
  hasConsole,
  now,
  captureDir,
  commands,
  secretSettings,
}: BannerFacts): string =>
  [
    '',
    ...warningOf(state, commands.login),
    ...tokenWarning(state, now),
    ...captureWarning(captureDir),
    '  codex-app-server-proxy',
    `  URL      ${url}/v1`,
    ...(hasConsole ? [`  console  ${consoleOf(url)} (sign in with the key)`] : []),
    `  key      ${key.description}`,
    `  backend  ${describeState(state)}`,
    ...modelOf(state, model),
    ...transportOf(state, transport),
    `  store    ${store}`,
    '',
    '  Try it:',
    `    curl ${url}/v1/responses -H "Authorization: Bearer ${key.inCommand}" \\`,
    `      -H "Content-Type: application/json" -d '{"model":"codex-5","input":"Say hello."}'`,
    '',
    ...signInOf(state, commands.login),
    `  Problems? ${commands.doctor}`,
    ...(secretSettings.length === 0
      ? []
      : [`    (with ${secretSettings.join(' and ')} set as for this server)`]),
    '',
    '',
  ].join('\n');

export const describeState = (state: BackendState): string => {
  switch (state.kind) {
    case 'upstream':
      return `the provider at ${state.baseUrl}`;
    case 'login':
      return `the Codex login (${loginName(state)}) in ${state.accessToken?.origin === 'environment' ? 'CODEX_ACCESS_TOKEN' : state.home}`;
    case 'demo':
      return 'the built-in demo model (no account needed; it is not intelligent)';
    case 'signed-out':
      return 'none: not signed in';
    default:
      return assertNever(state);
  }
};

/** What kind of login it is. */
const loginName = ({ login, accessToken }: Extract<BackendState, { kind: 'login' }>): string => {
  if (accessToken !== null) return 'ChatGPT access token';
  return login === 'chatgpt' ? 'ChatGPT' : 'API key';
};

/** The demo model answers under every name. */
const modelOf = (state: BackendState, model: string | null): readonly string[] =>
  model === null || state.kind === 'demo' || state.kind === 'signed-out'
    ? []
    : [`  model    ${model}, also called codex-5`];

const TRANSPORTS = {
  auto: 'over a WebSocket, or POST if there is none',
  websocket: 'over a WebSocket only: requests fail without one (PROXY_CHATGPT_TRANSPORT=websocket)',
  http: 'by POST (PROXY_CHATGPT_TRANSPORT=http)',
} as const;

const transportOf = (state: BackendState, transport: BannerFacts['transport']): readonly string[] =>
  state.kind === 'login' && state.login === 'chatgpt' && transport !== null
    ? [`  sends    ${TRANSPORTS[transport]}`]
    : [];

/** An access token that ends soon has to be replaced by hand. */
const tokenWarning = (state: BackendState, now: Date): readonly string[] => {
  const expiresAt = state.kind === 'login' ? (state.accessToken?.expiresAt ?? null) : null;
  if (expiresAt === null || expiresAt.getTime() - now.getTime() > TOKEN_ENDS_SOON_MS) return [];
  const when = `${expiresAt <= now ? 'expired' : 'expires'} ${shownTime(expiresAt)}`;
  return [`  The access token ${when} and cannot be renewed here: create a new one and replace it`, ''];
};

/** Printed first, because nothing works without a login. */
const warningOf = (state: BackendState, login: string): readonly string[] => {
  if (state.kind !== 'signed-out') return [];
  const where = state.isNamed ? `CODEX_HOME=${state.home} contains no usable login` : 'Not signed in';
  return [`  ${where}: requests fail with sign_in_required until you run ${login}`, ''];
};

/** Captures contain requests and answers. */
const captureWarning = (directory: string | null): readonly string[] =>
  directory === null
    ? []
    : [`  Requests and answers are written to files in ${directory} (PROXY_CAPTURE_DIR).`, ''];

/** Shown only while the demo model answers. */
const signInOf = (state: BackendState, login: string): readonly string[] =>
  state.kind === 'demo'
    ? [
        `  Sign in with ChatGPT: ${login}`,
        '  Use an existing login: start with CODEX_HOME=~/.codex',
        '  The running server notices the login.',
        '',
      ]
    : [];
