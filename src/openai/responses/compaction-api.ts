import { withCompactionTrigger } from '../../canonical/request/compaction.ts';
import { gatewayError } from '../../canonical/failure/failure.ts';
import { isJsonObject } from '../../kit/json/json.ts';
import type { ParsedResponse } from './input/to-turn.ts';
import { projectCompaction, type CompactionMeta } from './output/project-compaction.ts';
import type { Api } from '../../turns/api.ts';
import { responsesApi, type ResponsesOptions } from './api.ts';

/** Compaction: a Responses turn whose input ends with a trigger, and whose answer is a conversation. */
export const compactionApi = (options: ResponsesOptions): Api<ParsedResponse, CompactionMeta> => {
  const responses = responsesApi(options);
  return {
    path: `${responses.path}/compact`,
    parse(body, context) {
      rejectModes(body);
      return responses.parse(body, context);
    },
    toTurn(parsed, loaded, context) {
      // Its answer is the input of another conversation: it has no id to continue from.
      const { keeps: _, metaFor: __, ...read } = responses.toTurn(parsed, loaded, context);
      const { ids, clock } = context.ambient;
      return {
        ...read,
        request: withCompactionTrigger(read.request),
        // Never a side request: the requested model compacts the conversation.
        sideRequest: null,
        meta: {
          id: ids.mint('resp'),
          createdAt: Math.floor(clock.now() / 1000),
          usagePolicy: options.usagePolicy,
          items: read.request.items,
        },
      };
    },
    errors: responses.errors,
    render: () => {
      throw new Error('a compaction is not streamed');
    },
    project: (meta, [reply], ids) => projectCompaction(reply, meta, ids),
  };
};

const NEVER = { stream: 'streamed', background: 'made in the background' } as const;

/** The answer is neither a stream nor a response that can be retrieved. */
const rejectModes = (body: unknown): void => {
  if (!isJsonObject(body)) return;
  const param = (['stream', 'background'] as const).find((name) => body[name] === true);
  if (param === undefined) return;
  throw gatewayError('unsupported_parameter', {
    param,
    message: `Unsupported parameter: '${param}'. A compacted conversation is never ${NEVER[param]}.`,
  });
};
