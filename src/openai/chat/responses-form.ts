import { asksForCompaction } from '../../canonical/request/compaction.ts';
import { gatewayError } from '../../canonical/failure/failure.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import type { CreateResponse } from '../responses/input/parameters.ts';
import { namesWhere } from '../../apis/validation.ts';
import { parseResponse, toTurnRequest } from '../responses/input/to-turn.ts';
import type { ChatTurnOptions } from './common.ts';
import { asCustomCalls, eitherForm, flatCustomNames, rejectClientRunTools } from './tools.ts';
import type { ParsedChat } from './to-turn.ts';

/** Cursor posts Responses bodies to the Chat path, and expects Chat answers. */
export const hasResponsesForm = (body: JsonObject): boolean => {
  if ((body['input'] ?? null) === null) return false;
  if (!hasMessages(body)) return true;
  throw gatewayError('invalid_value', {
    param: 'input',
    message: "Invalid 'input': 'messages' and 'input' cannot be used in the same request.",
  });
};

const hasMessages = ({ messages }: JsonObject): boolean =>
  (messages ?? null) !== null && !(Array.isArray(messages) && messages.length === 0);

/** Parses the body as a Responses request with its own parameter names; only the answer is Chat's. */
export const readResponsesForm = (body: JsonObject, options: ChatTurnOptions): ParsedChat => {
  const { messages: _, ...plain } = body;
  const list = Array.isArray(plain['tools']) ? plain['tools'] : [];
  const unread: string[] = [];
  const read = toTurnRequest(parseResponse(plain), { ...options, toolForm: eitherForm(list, unread) });
  const { parsed, request } = read;
  refuseState(parsed);
  rejectClientRunTools(request.tools);
  refuseCompaction(request);
  const sentAsFunctions = flatCustomNames(list, request.tools);
  return {
    parsed,
    names: read.names,
    ignored: [
      ...read.ignored,
      ...unread,
      ...namesWhere({ store: parsed.store }),
      // Reasoning is always requested and kept here; Chat has no field for it.
      ...(parsed.include?.includes('reasoning.encrypted_content') === true
        ? ['include.reasoning.encrypted_content']
        : []),
    ],
    isLegacy: false,
    sentAsFunctions,
    formatPlace: read.formatPlace,
    // A stored completion has the messages of its request.
    stored: null,
    request: {
      ...request,
      items: asCustomCalls(request.items, sentAsFunctions),
      canApprove: false,
    },
  };
};

/** Rejects what the id in a Chat answer could not be used for. */
const refuseState = ({ previous_response_id, conversation, background }: CreateResponse): void => {
  const [param] = namesWhere({ previous_response_id, conversation, background });
  if (param === undefined) return;
  throw gatewayError('unsupported_parameter', {
    param,
    message: `Unsupported parameter: '${param}'. Chat does not support it. Use the Responses API.`,
  });
};

/** Rejects a compaction, which Chat could not return. */
const refuseCompaction = (request: ParsedChat['request']): void => {
  if (!asksForCompaction(request)) return;
  throw gatewayError('unsupported_value', {
    param: 'input',
    message:
      "Unsupported value: 'input' asks for a compaction, which Chat does not support. Use the Responses API.",
  });
};
