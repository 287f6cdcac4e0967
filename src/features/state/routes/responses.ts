import { jsonResponse } from '../../../http/answer/json-response.ts';
import { ignoredHeader } from '../../../http/answer/turn-headers.ts';
import { loadLimits, type BodyDeps } from '../../../http/body/read-json.ts';
import type { Route } from '../../../http/route.ts';
import {
  projectStoredItem,
  projectStoredResponse,
  readInclude,
} from '../../../openai/responses/output/project-stored.ts';
import {
  listBody,
  pageOf,
  readListQuery,
  readQueryFlag,
  unreadQuery,
} from '../../../openai/shared/list-page.ts';
import type { OpenBackground } from '../background/open.ts';
import { stateError } from '../failures.ts';
import type { StoredResponses } from '../stored-responses.ts';
import { isRunning } from '../stored-turn.ts';

export interface StoredResponseDeps {
  readonly responses: StoredResponses;
  /** Null: nothing is stored, so nothing is found either. */
  readonly background: OpenBackground | null;
  readonly bodies: BodyDeps;
}

/** The routes of stored responses. */
export const storedResponseRoutes = (deps: StoredResponseDeps) => ({
  'GET /v1/responses/:id': getResponse(deps),
  'DELETE /v1/responses/:id': deleteResponse(deps),
  'GET /v1/responses/:id/input_items': listInputItems(deps),
  'POST /v1/responses/:id/cancel': cancelResponse(deps),
});

/** The parameters that have an effect. A stream is given as its first reader got it, and obfuscates nothing. */
const READ = { object: ['include', 'stream'], stream: ['starting_after', 'stream'] } as const;

const getResponse =
  ({ responses, background, bodies }: StoredResponseDeps): Route['handle'] =>
  async (http, exchange, params) => {
    const query = queryOf(http);
    const include = readInclude(query);
    const isStream = readQueryFlag(query, 'stream');
    const hidden = readQueryFlag(query, 'include_obfuscation') ? [] : ['include_obfuscation'];
    const ignored = ignoredHeader(unreadQuery(query, [...READ[isStream ? 'stream' : 'object'], ...hidden]));
    const found = await responses.find(exchange.caller(), idOf(params), loadLimits(exchange, bodies));
    if (isStream && background !== null) {
      return background.stream(found, { query, headers: ignored }, exchange);
    }
    return jsonResponse(projectStoredResponse(found, include), ignored, exchange.signal);
  };

const deleteResponse =
  ({ responses }: StoredResponseDeps): Route['handle'] =>
  async (_http, exchange, params) => {
    const id = idOf(params);
    await responses.delete(exchange.caller(), id);
    return Response.json({ id, object: 'response', deleted: true });
  };

const listInputItems =
  ({ responses, bodies }: StoredResponseDeps): Route['handle'] =>
  async (http, exchange, params) => {
    const query = queryOf(http);
    const include = readInclude(query);
    const list = readListQuery(query, 'desc');
    const items = await responses.inputItems(exchange.caller(), idOf(params), loadLimits(exchange, bodies));
    const { entries, hasMore } = pageOf(items, list);
    const data = entries.map((entry) => projectStoredItem(entry, include));
    const ignored = ignoredHeader(unreadQuery(query, ['limit', 'order', 'after', 'before', 'include']));
    return jsonResponse(listBody(data, hasMore), ignored, exchange.signal);
  };

const idOf = (params: Readonly<Record<string, string>>): string => params['id'] ?? '';

const queryOf = ({ url }: Request): URLSearchParams => new URL(url).searchParams;

/** Stops a background response, on whichever instance it runs. One that has ended stays as it is. */
const cancelResponse =
  ({ responses, background, bodies }: StoredResponseDeps): Route['handle'] =>
  async (_http, exchange, params) => {
    const limits = loadLimits(exchange, bodies);
    const find = () => responses.find(exchange.caller(), idOf(params), limits);
    let found = await find();
    if (!found.row.isBackground) throw stateError('not_cancellable');
    if (isRunning(found.row.status)) {
      await background?.cancel(found.row);
      found = await find();
    }
    return jsonResponse(projectStoredResponse(found, new Set()), {}, exchange.signal);
  };
