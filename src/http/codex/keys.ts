import type { GatewayError } from '../../canonical/failure/failure.ts';
import { type ApiKey, projectKey } from '../../keys/key.ts';
import type { KeyAdmin, KeyWithSecret, StoppedKey } from '../../keys/key-admin.ts';
import type { KeyStorage } from '../../keys/key-storage.ts';
import { readNothing, readOverlap } from '../../keys/read-policy.ts';
import type { Clock } from '../../kit/ambient.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import { bodyObject } from '../../openai/chat/common.ts';
import { readListQuery, unreadQuery } from '../../openai/shared/list-page.ts';
import { ignoredHeader } from '../answer/ignored-header.ts';
import { readBody, type BodyDeps } from '../body/read-body.ts';
import { route, withStore, type Route, type StoreHandler } from '../route.ts';

export interface KeyRouteDeps {
  /** Null: nothing is stored. */
  readonly admin: KeyAdmin | null;
  /** Null: nothing is stored. */
  readonly storage: Pick<KeyStorage, 'statusOf'> | null;
  readonly clock: Clock;
}

const PATH = '/v1/codex/keys';
/** The answers may contain a secret. */
const NOT_CACHED = { 'cache-control': 'no-store' };

interface Call {
  readonly admin: KeyAdmin;
  readonly id: string;
  /** The fields of the body; empty without a body. */
  readonly fields: () => Promise<JsonObject>;
}

/** Named keys: `read` lists them, `admin` changes them. A key with `admin` may also change and revoke itself. */
export const keyRoutes = (deps: KeyRouteDeps & { readonly bodies: BodyDeps }): readonly Route[] => {
  const { clock, bodies } = deps;
  const stored = withStore(deps.admin === null ? null : { admin: deps.admin });
  const key = (one: ApiKey): JsonObject => projectKey(one, clock.now());
  const withSecret = ({ key: one, secret }: KeyWithSecret): JsonObject => ({ ...key(one), key: secret });
  const answer = (
    method: Route['method'],
    path: string,
    handle: (call: Call) => Promise<JsonObject>,
  ): Route =>
    route(
      `${method} ${PATH}${path}`,
      method === 'GET' ? 'read' : 'admin',
      stored(async ({ http, exchange, admin, id }) => {
        const fields = async () => bodyObject(await readBody(http, exchange, bodies, { ifEmpty: {} }));
        const body = await handle({ admin, id, fields });
        return Response.json(body, { status: 'warning' in body ? 202 : 200, headers: NOT_CACHED });
      }),
    );
  const stopped = ({ key: one, unwritten }: StoppedKey): JsonObject => ({
    ...key(one),
    ...(unwritten === null ? {} : { warning: warningOf(unwritten) }),
  });
  const action = (name: string, handle: (admin: KeyAdmin, id: string) => Promise<JsonObject>): Route =>
    answer('POST', `/:id/${name}`, async ({ admin, id, fields }) => {
      readNothing(await fields());
      return handle(admin, id);
    });
  return [
    route(`GET ${PATH}`, 'read', stored(listKeys(key))),
    answer('POST', '', async ({ admin, fields }) => withSecret(await admin.create(await fields()))),
    answer('GET', '/:id', async ({ admin, id }) => key(await admin.find(id))),
    answer('GET', '/:id/limits', async ({ admin, id }) => ({
      object: 'list',
      data: (await admin.limitsOf(id)).map((status) => ({ ...status })),
      has_more: false,
      storage: { ...(await deps.storage?.statusOf(id)) },
    })),
    answer('POST', '/:id', async ({ admin, id, fields }) => key(await admin.change(id, await fields()))),
    answer('DELETE', '/:id', async ({ admin, id }) => stopped(await admin.revoke(id))),
    answer('POST', '/:id/rotate', async ({ admin, id, fields }) =>
      withSecret(await admin.rotate(id, readOverlap(await fields()))),
    ),
    action('pause', async (admin, id) => stopped(await admin.pause(id))),
    action('resume', async (admin, id) => key(await admin.resume(id))),
    action('reset', async (admin, id) => key(await admin.reset(id))),
  ];
};

const warningOf = ({ failure: { message } }: GatewayError): string =>
  `This server refuses the key from now on, but could not store that yet, and goes on trying: until then a restart of this server undoes it. ${message}`;

const listKeys =
  (project: (key: ApiKey) => JsonObject): StoreHandler<{ readonly admin: KeyAdmin }> =>
  async ({ query, admin }) => {
    const { limit, after } = readListQuery(query, 'desc');
    const found = await admin.list({ after, limit: limit + 1 });
    const data = found.slice(0, limit).map(project);
    return Response.json(
      { object: 'list', data, has_more: found.length > limit },
      { headers: { ...ignoredHeader(unreadQuery(query, ['limit', 'after'])), ...NOT_CACHED } },
    );
  };
