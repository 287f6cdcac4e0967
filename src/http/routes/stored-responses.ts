import { RESPONSES_PATH } from '../../openai/responses/api.ts';
import {
  readInclude,
  projectStoredItem,
  projectStoredResponse,
} from '../../openai/responses/output/project-stored.ts';
import {
  listBody,
  pageOf,
  readListQuery,
  readQueryFlag,
  unreadQuery,
} from '../../openai/shared/list-page.ts';
import type { StoredResponses } from '../../state/stored-responses.ts';
import { ignoredHeader } from '../answer/turn-headers.ts';
import { jsonResponse } from '../answer/json-response.ts';
import { loadLimits } from '../body/read-json.ts';
import { route, type Route } from '../route.ts';
import type { TurnDeps } from '../turn/start-turn.ts';
import { responseStream } from './response-stream.ts';

export interface StoredResponseDeps {
  readonly responses: StoredResponses;
  readonly room: TurnDeps;
}

/** The routes of stored responses. */
export const storedResponseRoutes = (deps: StoredResponseDeps): readonly Route[] => [
  route(`GET ${RESPONSES_PATH}/:id`, {}, getResponse(deps)),
  route(`DELETE ${RESPONSES_PATH}/:id`, {}, deleteResponse(deps)),
  route(`GET ${RESPONSES_PATH}/:id/input_items`, {}, listInputItems(deps)),
];

/** The parameters that have an effect. A stream is given as its first reader got it, and obfuscates nothing. */
const READ = { object: ['include', 'stream'], stream: ['starting_after', 'stream'] } as const;

const getResponse =
  ({ responses, room }: StoredResponseDeps): Route['handle'] =>
  async (http, exchange, params) => {
    const query = queryOf(http);
    const include = readInclude(query);
    const isStream = readQueryFlag(query, 'stream');
    const hidden = readQueryFlag(query, 'include_obfuscation') ? [] : ['include_obfuscation'];
    const ignored = ignoredHeader(unreadQuery(query, [...READ[isStream ? 'stream' : 'object'], ...hidden]));
    const found = await responses.find(exchange.caller(), idOf(params), loadLimits(exchange, room));
    if (isStream) return responseStream(found, { query, headers: ignored }, exchange, room);
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
  ({ responses, room }: StoredResponseDeps): Route['handle'] =>
  async (http, exchange, params) => {
    const query = queryOf(http);
    const include = readInclude(query);
    const list = readListQuery(query, 'desc');
    const items = await responses.inputItems(exchange.caller(), idOf(params), loadLimits(exchange, room));
    const { entries, hasMore } = pageOf(items, list);
    const data = entries.map((entry) => projectStoredItem(entry, include));
    const ignored = ignoredHeader(unreadQuery(query, ['limit', 'order', 'after', 'before', 'include']));
    return jsonResponse(listBody(data, hasMore), ignored, exchange.signal);
  };

const idOf = (params: Readonly<Record<string, string>>): string => params['id'] ?? '';

const queryOf = ({ url }: Request): URLSearchParams => new URL(url).searchParams;
