import { withCompactionTrigger } from '../../canonical/request/compaction.ts';
import { gatewayError } from '../../canonical/failure/failure.ts';
import { isJsonObject } from '../../kit/json/json.ts';
import { projectCompaction } from './output/project-compaction.ts';
import type { Api } from '../../turns/api.ts';
import { responsesApi, type ResponsesOptions } from './api.ts';

/** A turn of the Responses API that ends with a trigger, and whose answer is a conversation. */
export const compactionApi = (options: ResponsesOptions): Api => {
  const responses = responsesApi(options);
  return {
    path: `${responses.path}/compact`,
    read(body, context) {
      refuseStream(body);
      const ask = responses.read(body, context);
      const { ids, clock } = context.ambient;
      const meta = {
        id: ids.mint('resp'),
        createdAt: Math.floor(clock.now() / 1000),
        usagePolicy: options.usagePolicy,
        items: ask.request.items,
      };
      return {
        ...ask,
        request: withCompactionTrigger(ask.request),
        // A conversation is compacted by the model that was requested, whatever it asks for at its end.
        sideRequest: null,
        project: ([reply]) => projectCompaction(reply, meta, ids),
      };
    },
  };
};

/** Who waits for events would not understand what comes. */
const refuseStream = (body: unknown): void => {
  if (!isJsonObject(body) || body['stream'] !== true) return;
  throw gatewayError('unsupported_parameter', {
    param: 'stream',
    message: "Unsupported parameter: 'stream'. A compacted conversation is always sent as a whole.",
  });
};
