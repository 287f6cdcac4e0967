import { z } from 'zod';

import { gatewayError } from '../../../canonical/failure/failure.ts';
import { isJsonObject } from '../../../kit/json/json.ts';
import { idText, list, longText } from '../../../apis/bounds.ts';
import { invalidChoice, missing, notAnObject, parseBody } from '../../../apis/validation.ts';
import type { SessionInputContent } from './objects.ts';
import { readUserMessages, readContentPart, type SessionInput } from './read-session.ts';

/** What a client posts to a session. */
export type InputEvent =
  | { readonly type: 'message'; readonly messages: readonly SessionInput[] }
  | { readonly type: 'cancel' }
  | { readonly type: 'tool_result'; readonly result: ToolResult };

export interface ToolResult {
  readonly turnId: string;
  readonly callId: string;
  readonly success: boolean;
  readonly output: string | readonly SessionInputContent[] | null;
  readonly error: string | null;
}

const MAX_EVENTS = 20;
const PREFIX = 'agent.session.input.';
const TYPES = ['message', 'cancel', 'tool_result'] as const;

const resultSchema = z.object({
  turn_id: idText,
  call_id: idText,
  success: z.boolean(),
  output: z.unknown().optional(),
  error: longText.nullish(),
});

/** Throws if an event is invalid. */
export const readInputEvents = (body: unknown): readonly InputEvent[] => {
  const given = isJsonObject(body) ? body['events'] : undefined;
  if (given === undefined || given === null) throw missing('events');
  const events = parseBody(list(MAX_EVENTS), given, 'events');
  if (events.length === 0) throw missing('events');
  return events.map((event, index) => readEvent(event, `events[${index}]`));
};

const readEvent = (value: unknown, at: string): InputEvent => {
  if (!isJsonObject(value)) throw notAnObject(at, value);
  const { type } = value;
  if (type === undefined) throw missing(`${at}.type`);
  if (type === `${PREFIX}message`)
    return { type: 'message', messages: readUserMessages(value['input'], `${at}.input`) };
  if (type === `${PREFIX}cancel`) return { type: 'cancel' };
  if (type === `${PREFIX}tool_result`) return { type: 'tool_result', result: readResult(value, at) };
  if (type === `${PREFIX}computer_use_approval_request_result`) {
    throw gatewayError('unsupported_value', {
      param: `${at}.type`,
      message: `Unsupported value: '${at}.type' cannot be '${type}': this server has no computer use.`,
    });
  }
  throw invalidChoice(
    `${at}.type`,
    type,
    TYPES.map((name) => PREFIX + name),
  );
};

const MAX_OUTPUT_PARTS = 100;

const readResult = (value: unknown, at: string): ToolResult => {
  const { turn_id, call_id, success, output, error } = parseBody(resultSchema, value, at);
  return {
    turnId: turn_id,
    callId: call_id,
    success,
    output: output === undefined || output === null ? null : readOutput(output, `${at}.output`),
    error: error ?? null,
  };
};

const readOutput = (output: unknown, at: string): string | readonly SessionInputContent[] =>
  typeof output === 'string'
    ? parseBody(longText, output, at)
    : parseBody(list(MAX_OUTPUT_PARTS), output, at).map((part, index) =>
        readContentPart(part, `${at}[${index}]`),
      );
