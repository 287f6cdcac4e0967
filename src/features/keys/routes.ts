import { randomBytes } from 'node:crypto';

import { gatewayError, type GatewayError } from '../../canonical/failure/failure.ts';
import type { OpenFeature } from '../../compose/feature.ts';
import { ignoredHeader } from '../../http/answer/turn-headers.ts';
import { readHeldBody, type BodyDeps } from '../../http/body/read-json.ts';
import type { SignInLimit } from '../../http/guards/sign-in-limit.ts';
import { withStore, type Route } from '../../http/route.ts';
import type { Clock } from '../../kit/ambient.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import { bodyObject } from '../../openai/chat/common.ts';
import { readListQuery, unreadQuery } from '../../openai/shared/list-page.ts';
import { keyError } from './failures.ts';
import type { KEY_TABLES } from './feature.ts';
import type { KeyAdmin, KeyWithSecret, StoppedKey } from './key-admin.ts';
import { isNonce, proofKeyOf, proofOf } from './key-secret.ts';
import type { KeyStorage } from './key-storage.ts';
import { projectKey, type ApiKey } from './key.ts';
import { readNothing, readOverlap } from './read-policy.ts';

export interface KeyRouteDeps {
  /** Null: nothing is stored. */
  readonly admin: KeyAdmin | null;
  /** Null: nothing is stored. */
  readonly storage: KeyStorage | null;
  readonly clock: Clock;
  readonly bodies: BodyDeps;
  /** The keys of the settings, or that of the installation. */
  readonly configured: readonly string[];
  readonly proofLimit: SignInLimit;
}

/** The answers may contain a secret. */
const NOT_CACHED = { 'cache-control': 'no-store' };

interface KeyCall {
  readonly admin: KeyAdmin;
  readonly id: string;
  /** The fields of the body; empty without a body. */
  readonly fields: () => Promise<JsonObject>;
}

/** Named keys: `read` lists them, `admin` changes them. A key with `admin` may also change and revoke itself. */
export const keyRoutes = (deps: KeyRouteDeps): NonNullable<OpenFeature<typeof KEY_TABLES>['routes']> => {
  const { clock, bodies } = deps;
  const key = (one: ApiKey): JsonObject => projectKey(one, clock.now());
  const withSecret = ({ key: one, secret }: KeyWithSecret): JsonObject => ({ ...key(one), key: secret });
  const stored = withStore(deps.admin === null ? null : { admin: deps.admin });
  const answer = (handle: (call: KeyCall) => Promise<JsonObject>): Route['handle'] =>
    stored(async ({ http, exchange, admin, id }) => {
      const fields = async () => bodyObject(await readHeldBody(http, exchange, bodies, { ifEmpty: {} }));
      const body = await handle({ admin, id, fields });
      return Response.json(body, { status: 'warning' in body ? 202 : 200, headers: NOT_CACHED });
    });
  const stopped = ({ key: one, unwritten }: StoppedKey): JsonObject => ({
    ...key(one),
    ...(unwritten === null ? {} : { warning: warningOf(unwritten) }),
  });
  const action = (handle: (admin: KeyAdmin, id: string) => Promise<JsonObject>): Route['handle'] =>
    answer(async ({ admin, id, fields }) => {
      readNothing(await fields());
      return handle(admin, id);
    });
  return {
    'GET /v1/codex/keys': stored(async ({ query, admin }) => {
      const { limit, after } = readListQuery(query, 'desc');
      const found = await admin.list({ after, limit: limit + 1 });
      const data = found.slice(0, limit).map(key);
      return Response.json(
        { object: 'list', data, has_more: found.length > limit },
        { headers: { ...ignoredHeader(unreadQuery(query, ['limit', 'after'])), ...NOT_CACHED } },
      );
    }),
    'POST /v1/codex/keys': answer(async ({ admin, fields }) =>
      withSecret(await admin.create(await fields())),
    ),
    'GET /v1/codex/keys/:id': answer(async ({ admin, id }) => key(await admin.find(id))),
    'GET /v1/codex/keys/:id/limits': answer(async ({ admin, id }) => ({
      object: 'list',
      data: (await admin.limitsOf(id)).map((status) => ({ ...status })),
      has_more: false,
      storage: { ...(await deps.storage?.statusOf(id)) },
    })),
    'POST /v1/codex/keys/:id': answer(async ({ admin, id, fields }) =>
      key(await admin.change(id, await fields())),
    ),
    'DELETE /v1/codex/keys/:id': answer(async ({ admin, id }) => stopped(await admin.revoke(id))),
    'POST /v1/codex/keys/:id/rotate': answer(async ({ admin, id, fields }) =>
      withSecret(await admin.rotate(id, readOverlap(await fields()))),
    ),
    'POST /v1/codex/keys/:id/pause': action(async (admin, id) => stopped(await admin.pause(id))),
    'POST /v1/codex/keys/:id/resume': action(async (admin, id) => key(await admin.resume(id))),
    'POST /v1/codex/keys/:id/reset': action(async (admin, id) => key(await admin.reset(id))),
    'GET /v1/codex/key-proof': proveKey(deps),
  };
};

const warningOf = ({ failure: { message } }: GatewayError): string =>
  `This server refuses the key from now on, but could not store that yet, and goes on trying: until then a restart of this server undoes it. ${message}`;

/**
 * Proves to a program on this machine that this server knows its key. So `connect` sends no key to another program that
 * has taken the port.
 */
const proveKey = ({ configured, proofLimit }: KeyRouteDeps): Route['handle'] => {
  const salt = randomBytes(16).toString('base64url');
  let derived: Promise<readonly Buffer[]> | null = null;
  return async ({ url }, exchange) => {
    const address = exchange.reachedAt();
    if (address === null) {
      throw keyError('address_not_allowed', {
        message: 'This server proves that it knows its key to programs on its own machine only.',
      });
    }
    const nonce = new URL(url).searchParams.get('nonce') ?? '';
    if (!isNonce(nonce)) {
      throw gatewayError('invalid_value', {
        param: 'nonce',
        message: "Invalid 'nonce': expected 32 random bytes in base64url.",
      });
    }
    proofLimit.enter(exchange.address).succeeded();
    derived ??= Promise.all(configured.map((key) => proofKeyOf(key, salt)));
    const proofs = (await derived).map((key) => proofOf(key, nonce, address));
    return Response.json({ object: 'codex.key_proof', salt, address, proofs }, { headers: NOT_CACHED });
  };
};
