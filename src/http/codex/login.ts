import { gatewayError } from '../../canonical/failure/failure.ts';
import type { SignIns, SignInSession } from '../../canonical/models/sign-in.ts';
import { hasScope } from '../guards/scopes.ts';
import { readSignIn } from '../../openai/shared/sign-in.ts';
import { ignoredHeader } from '../answer/turn-headers.ts';
import { readHeldBody, type BodyDeps } from '../body/read-json.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { route, type Route } from '../route.ts';

export interface LoginRouteDeps {
  readonly signIns: SignIns;
  /** The setting that takes precedence over the login; null: the login is used. */
  readonly overriddenBy: string | null;
}

const PATH = '/v1/codex/login';
const NOT_CACHED = { 'cache-control': 'no-store' };

/** Signs in to the account of the backend and out again, without a terminal. */
export const loginRoutes = (deps: LoginRouteDeps & { readonly bodies: BodyDeps }): readonly Route[] => {
  const { signIns, overriddenBy, bodies } = deps;
  const shown = (session: SignInSession, exchange: Exchange) =>
    projectSignIn(session, { overriddenBy, isAdmin: isAdmin(exchange) });
  return [
    route(`POST ${PATH}`, 'admin', async (http, exchange) => {
      const { method, ignored } = readSignIn(await readHeldBody(http, exchange, bodies));
      if (method === 'browser' && !exchange.isOnThisMachine()) throw notHere();
      const session = await signIns.start(method);
      const headers = { ...ignoredHeader(ignored), ...NOT_CACHED };
      return Response.json(shown(session, exchange), { status: 201, headers });
    }),
    route(`GET ${PATH}`, 'read', (_, exchange) =>
      Response.json(
        {
          object: 'list',
          data: signIns.list().map((session) => shown(session, exchange)),
          has_more: false,
          methods: exchange.isOnThisMachine() ? ['device', 'browser'] : ['device'],
          overridden_by: overriddenBy,
        },
        { headers: NOT_CACHED },
      ),
    ),
    route(`GET ${PATH}/:id`, 'read', (_, exchange, { id = '' }) =>
      Response.json(shown(signIns.find(id), exchange), { headers: NOT_CACHED }),
    ),
    route(`DELETE ${PATH}/:id`, 'admin', (_, exchange, { id = '' }) =>
      Response.json(shown(signIns.cancel(id), exchange)),
    ),
    route('POST /v1/codex/logout', 'admin', async () => {
      await signIns.signOut();
      return Response.json({ object: 'codex.logout', signed_out: true, overridden_by: overriddenBy });
    }),
  ];
};

const isAdmin = (exchange: Exchange): boolean => {
  const caller = exchange.identity();
  return caller !== null && hasScope(caller, ['admin']);
};

/** Who knows the code could complete the sign-in with another account, so only those who may start one see it. */
export const projectSignIn = (
  session: SignInSession,
  { overriddenBy, isAdmin: showsCode }: { readonly overriddenBy: string | null; readonly isAdmin: boolean },
) => ({
  object: 'codex.login' as const,
  id: session.id,
  status: session.status,
  method: session.method,
  verification_url: showsCode ? session.verificationUrl : null,
  user_code: showsCode ? session.userCode : null,
  auth_url: showsCode ? session.authUrl : null,
  error: session.error,
  created_at: Math.floor(session.createdAt / 1000),
  expires_at: Math.floor(session.expiresAt / 1000),
  overridden_by: overriddenBy,
});

const notHere = () =>
  gatewayError('unsupported_value', {
    param: 'method',
    message:
      "A sign-in by browser ends on the machine of the server, at an address of its own. This request does not come from a program or a page on that machine: use 'device'.",
  });
