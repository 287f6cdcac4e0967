import { z } from 'zod';

import { parseBody, unreadFields } from '../../apis/validation.ts';
import { gatewayError } from '../../canonical/failure/failure.ts';
import type { OpenFeature } from '../../compose/feature.ts';
import { ignoredHeader } from '../../http/answer/turn-headers.ts';
import { readHeldBody, type BodyDeps } from '../../http/body/read-json.ts';
import type { Exchange } from '../../http/exchange/exchange.ts';
import { hasScope } from '../../http/guards/scopes.ts';
import { bodyObject } from '../../openai/chat/common.ts';
import type { SIGN_IN_TABLES } from './feature.ts';
import type { SignInSession, SignInSessions } from './sign-in-sessions.ts';

export interface SignInRouteDeps {
  readonly signIns: SignInSessions;
  /** The setting that takes precedence over the login; null: the login is used. */
  readonly overriddenBy: string | null;
  readonly bodies: BodyDeps;
}

const NOT_CACHED = { 'cache-control': 'no-store' };

const signInSchema = z.object({ method: z.enum(['device', 'browser']) });

/** Signs in to the account of the backend and out again, without a terminal. */
export const signInRoutes = ({
  signIns,
  overriddenBy,
  bodies,
}: SignInRouteDeps): NonNullable<OpenFeature<typeof SIGN_IN_TABLES>['routes']> => {
  const shown = (session: SignInSession, exchange: Exchange) =>
    projectSignIn(session, { overriddenBy, isAdmin: isAdmin(exchange) });
  return {
    'POST /v1/codex/login': async (http, exchange) => {
      const body = bodyObject(await readHeldBody(http, exchange, bodies));
      const { method } = parseBody(signInSchema, body);
      if (method === 'browser' && !exchange.isOnThisMachine()) throw notHere();
      const session = await signIns.start(method);
      const headers = { ...ignoredHeader(unreadFields(signInSchema, body, '')), ...NOT_CACHED };
      return Response.json(shown(session, exchange), { status: 201, headers });
    },
    'GET /v1/codex/login': (_, exchange) =>
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
    'GET /v1/codex/login/:id': (_, exchange, { id = '' }) =>
      Response.json(shown(signIns.find(id), exchange), { headers: NOT_CACHED }),
    'DELETE /v1/codex/login/:id': (_, exchange, { id = '' }) =>
      Response.json(shown(signIns.cancel(id), exchange)),
    'POST /v1/codex/logout': async () => {
      await signIns.signOut();
      return Response.json({ object: 'codex.logout', signed_out: true, overridden_by: overriddenBy });
    },
  };
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
