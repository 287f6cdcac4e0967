import type { BackendTarget } from './backend.ts';

/**
 * Environment variables that the child inherits. Everything else stays here: keys of other services, our
 * settings, and variables that change codex's behaviour.
 */
const PASSED = new Set([
  'PATH',
  'HOME',
  'LANG',
  'TZ',
  'TMPDIR',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  // On Windows, processes need these to start or to find the temporary folder.
  'SYSTEMROOT',
  'USERPROFILE',
  'TEMP',
  'TMP',
]);

/** The certificate variables that codex and its TLS library read. */
const TRUST = new Set(['CODEX_CA_CERTIFICATE', 'SSL_CERT_FILE', 'SSL_CERT_DIR']);

const LOOPBACK = ['127.0.0.1', 'localhost', '::1'];

/**
 * What codex writes to stderr: errors, as by default, and the output items that it could not read and dropped,
 * which it reports nowhere else (`UNREAD_ITEM`).
 */
const RUST_LOG = 'error,codex_api::sse::responses=debug';
/** Ends the line on stderr about an output item of the backend that codex dropped. */
export const UNREAD_ITEM = 'failed to parse ResponseItem from output_item.done';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ChildEnvironmentOptions {
  readonly codexHome: string;
  /** The variable that holds the provider's key, if any. */
  readonly apiKeyEnv: string | null;
  /**
   * The only certificates that the child trusts; null: those of our environment or of the system. The
   * app-server parses its certificates for every model request, even to an http:// URL, and parsing the
   * system's takes nearly half the CPU time of a turn.
   */
  readonly certificateFile: string | null;
  /** What the login needs, see `loginVariables`. */
  readonly login: Readonly<Record<string, string>>;
}

/** Builds the child's environment from ours. Pure. */
export const childEnvironment = (
  ours: Environment,
  { codexHome, apiKeyEnv, certificateFile, login }: ChildEnvironmentOptions,
): Readonly<Record<string, string>> => {
  const child: Record<string, string> = {};
  for (const [name, value] of Object.entries(ours)) {
    if (value === undefined) continue;
    const isTrust = TRUST.has(name.toUpperCase());
    if (isTrust ? certificateFile === null : isPassed(name, apiKeyEnv)) child[name] = value;
  }
  return {
    ...child,
    ...loopbackPastProxy(child),
    ...(certificateFile === null ? {} : { SSL_CERT_FILE: certificateFile }),
    ...login,
    CODEX_HOME: codexHome,
    RUST_LOG,
  };
};

/** The variables by which codex finds the services of its login; those that are null have codex's defaults. */
export const loginVariables = (backend: BackendTarget): Readonly<Record<string, string>> => {
  if (backend.kind !== 'login') return {};
  const { refreshUrl, revokeUrl, authApiUrl, chatgptBaseUrl, accessToken } = backend;
  return Object.fromEntries(
    Object.entries({
      CODEX_REFRESH_TOKEN_URL_OVERRIDE: refreshUrl,
      CODEX_REVOKE_TOKEN_URL_OVERRIDE: revokeUrl,
      CODEX_AUTHAPI_BASE_URL: authApiUrl,
      CODEX_AGENT_IDENTITY_AUTHAPI_BASE_URL: authApiUrl,
      // Otherwise codex accepts agent tokens only with ChatGPT's own address.
      CODEX_AGENT_IDENTITY_JWKS_BASE_URL: accessToken === 'agent' ? chatgptBaseUrl : null,
    }).filter((entry): entry is [string, string] => entry[1] !== null),
  );
};

/** Case-insensitive: proxy variables are written in both cases, and Windows writes `Path`. */
const isPassed = (name: string, apiKeyEnv: string | null): boolean =>
  name === apiKeyEnv || name.startsWith('LC_') || PASSED.has(name.toUpperCase());

/** Excludes loopback from the proxy settings: our own servers listen there. */
const loopbackPastProxy = (child: Environment): Readonly<Record<string, string>> => {
  const names = Object.keys(child);
  if (!names.some((name) => /^(https?|all)_proxy$/i.test(name))) return {};
  const noProxy = names.filter((name) => name.toUpperCase() === 'NO_PROXY');
  return Object.fromEntries(
    (noProxy.length === 0 ? ['NO_PROXY'] : noProxy).map((name) => [
      name,
      [...(child[name] ?? '').split(',').filter((host) => host.trim() !== ''), ...LOOPBACK].join(','),
    ]),
  );
};
