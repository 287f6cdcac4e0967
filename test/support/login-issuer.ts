import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An imitation of the service where people sign in. */
export interface LoginIssuer {
  readonly url: string;
  /** The paths that codex asked for. */
  readonly asked: readonly string[];
  /** The user has entered the code, or has not yet. */
  isApproved: boolean;
  /** What codex needs to use it. */
  readonly environment: Readonly<Record<string, string>>;
  close(): void;
}

const unsignedToken = (claims: object): string =>
  ['{"alg":"none"}', JSON.stringify(claims), 'signature']
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.');

const CLAIMS = {
  email: 'ann@example.com',
  exp: 4_000_000_000,
  'https://api.openai.com/auth': { chatgpt_plan_type: 'plus', chatgpt_account_id: 'acc-1' },
};

export const ISSUED = {
  id_token: unsignedToken(CLAIMS),
  access_token: unsignedToken(CLAIMS),
  refresh_token: 'refresh-1',
};

const PENDING = '/api/accounts/deviceauth/token';
const ANSWERS: Readonly<Record<string, unknown>> = {
  '/api/accounts/deviceauth/usercode': { device_auth_id: 'd', user_code: 'CODE-12345', interval: '1' },
  [PENDING]: { authorization_code: 'a', code_challenge: 'c', code_verifier: 'v' },
  '/oauth/token': ISSUED,
  '/oauth/revoke': {},
};

export const startLoginIssuer = async (): Promise<LoginIssuer> => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    const body = path === PENDING && !issuer.isApproved ? undefined : ANSWERS[path];
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body ?? {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer: LoginIssuer = {
    url,
    asked,
    isApproved: true,
    environment: {
      CODEX_APP_SERVER_LOGIN_ISSUER: url,
      CODEX_REVOKE_TOKEN_URL_OVERRIDE: `${url}/oauth/revoke`,
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return issuer;
};
