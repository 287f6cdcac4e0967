import { gatewayError } from '../../canonical/failure/failure.ts';
import { RESPONSES_PATH } from '../../openai/responses/api.ts';
import { projectStoredResponse } from '../../openai/responses/output/project-stored.ts';
import { isRunning } from '../../state/stored-turn.ts';
import { jsonResponse } from '../answer/json-response.ts';
import { route, type Route } from '../route.ts';
import { loadLimits } from '../body/read-json.ts';
import type { StoredResponseDeps } from './stored-responses.ts';

/** Stops a background response, on whichever instance it runs. One that has ended stays as it is. */
export const cancelRoute = ({ responses, room }: StoredResponseDeps): Route =>
  route(`POST ${RESPONSES_PATH}/:id/cancel`, {}, async (_http, exchange, params) => {
    const id = params['id'] ?? '';
    const limits = loadLimits(exchange, room);
    const find = () => responses.find(exchange.caller(), id, limits);
    let found = await find();
    if (!found.row.isBackground) throw gatewayError('not_cancellable');
    if (isRunning(found.row.status)) {
      await room.background?.runs.cancel(found.row);
      found = await find();
    }
    return jsonResponse(projectStoredResponse(found, new Set()), {}, exchange.signal);
  });
