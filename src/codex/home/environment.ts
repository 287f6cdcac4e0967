/**
 * What the child may know of our environment. Everything else stays here: keys of other services, our
 * own settings, and variables by which a caller could change what codex does.
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
  // Without these a process does not start, or finds no temporary folder, on Windows.
  'SYSTEMROOT',
  'USERPROFILE',
  'TEMP',
  'TMP',
]);

/** The certificate variables that codex and its TLS library read. */
const TRUST = new Set(['CODEX_CA_CERTIFICATE', 'SSL_CERT_FILE', 'SSL_CERT_DIR']);

const LOOPBACK = ['127.0.0.1', 'localhost', '::1'];

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ChildEnvironmentOptions {
  readonly codexHome: string;
  /** The variable that holds the key of the provider, if there is one. */
  readonly apiKeyEnv: string | null;
  /**
   * The only certificates that the child knows; null: what we were told, or else the machine's. The
   * app-server reads and parses its certificates anew for every model request, also for one to an
   * http:// URL, and the machine's are nearly half of what a turn costs.
   */
  readonly certificateFile: string | null;
  /** Where a login's tokens are refreshed and revoked; null: where codex does it by itself. */
  readonly refreshUrl: string | null;
  readonly revokeUrl: string | null;
}

/** Pure: our environment in, the child's out. */
export const childEnvironment = (
  ours: Environment,
  { codexHome, apiKeyEnv, certificateFile, refreshUrl, revokeUrl }: ChildEnvironmentOptions,
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
    ...(refreshUrl === null ? {} : { CODEX_REFRESH_TOKEN_URL_OVERRIDE: refreshUrl }),
    ...(revokeUrl === null ? {} : { CODEX_REVOKE_TOKEN_URL_OVERRIDE: revokeUrl }),
    CODEX_HOME: codexHome,
  };
};

/** Proxy variables are written in both cases, and Windows writes `Path`: the case does not matter. */
const isPassed = (name: string, apiKeyEnv: string | null): boolean =>
  name === apiKeyEnv || name.startsWith('LC_') || PASSED.has(name.toUpperCase());

/** Our own servers are on the loopback: requests to them must not take the way through a proxy. */
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
