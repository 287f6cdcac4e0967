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

/** Path segments of the addresses. Without `backend-api` in it codex would use other paths. */
const SEGMENTS: Readonly<Record<keyof RelayAddresses, string>> = {
  model: 'model',
  account: 'backend-api',
  refresh: 'refresh',
  revoke: 'revoke',
  authApi: 'auth-api',
};

export const addressesAt = (origin: string): RelayAddresses => ({
  model: `${origin}/${SEGMENTS.model}`,
  account: `${origin}/${SEGMENTS.account}`,
  refresh: `${origin}/${SEGMENTS.refresh}`,
  revoke: `${origin}/${SEGMENTS.revoke}`,
  authApi: `${origin}/${SEGMENTS.authApi}`,
});

export interface RelayRoute {
  readonly name: keyof RelayAddresses;
  readonly target: string;
  /** The path after the name, with its slash and query. */
  readonly path: string;
}

/** Where a request of the app-server goes; null: nowhere. */
export const routeOf = (rest: string, targets: RelayTargets): RelayRoute | null => {
  for (const name of Object.keys(SEGMENTS) as (keyof RelayAddresses)[]) {
    const target = targets[name];
    const path = rest.slice(SEGMENTS[name].length);
    // Tokens are refreshed at a single URL; the others are base URLs.
    const isWhole = name === 'refresh' || name === 'revoke' ? path === '' : path.startsWith('/');
    if (rest.startsWith(SEGMENTS[name]) && isWhole) return target === null ? null : { name, target, path };
  }
  return null;
};
