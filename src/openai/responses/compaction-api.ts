import { withCompactionTrigger } from '../../canonical/request/compaction.ts';
import { gatewayError } from '../../canonical/failure/failure.ts';
import { isJsonObject } from '../../kit/json/json.ts';
import type { ParsedResponse } from './input/to-turn.ts';
import { projectCompaction, type CompactionMeta } from './output/project-compaction.ts';
import type { Api } from '../../turns/api.ts';
import { responsesApi, type ResponsesOptions } from './api.ts';

/** A turn of the Responses API that ends with a trigger, and whose answer is a conversation. */
export const compactionApi = (options: ResponsesOptions): Api<ParsedResponse, CompactionMeta> => {
  const responses = responsesApi(options);
  return {
    path: `${responses.path}/compact`,
    parse(body, context) {
      refuseStream(body);
      return responses.parse(body, context);
    },
    toTurn(parsed, loaded, context) {
      const read = responses.toTurn(parsed, loaded, context);
      const { ids, clock } = context.ambient;
      return {
        ...read,
        request: withCompactionTrigger(read.request),
        // A conversation is compacted by the model that was requested, whatever it asks for at its end.
        sideRequest: null,
        meta: {
          id: ids.mint('resp'),
          createdAt: Math.floor(clock.now() / 1000),
          usagePolicy: options.usagePolicy,
          items: read.request.items,
        },
      };
    },
    render: () => {
      throw new Error('a compaction is not streamed');
    },
    project: (meta, [reply], ids) => projectCompaction(reply, meta, ids),
    errorBody: responses.errorBody,
  };
};

/** Who waits for events would not understand what comes. */
const refuseStream = (body: unknown): void => {
  if (!isJsonObject(body) || body['stream'] !== true) return;
  throw gatewayError('unsupported_parameter', {
    param: 'stream',
    message: "Unsupported parameter: 'stream'. A compacted conversation is never streamed.",
  });
};
