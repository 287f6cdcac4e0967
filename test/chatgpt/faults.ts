import type { Script } from '../../src/demo/model-server.ts';
import type { ModelConnection } from '../../src/demo/connection.ts';
import { assertNever } from '../../src/kit/assert-never.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { isFrameConnection } from './frame-connection.ts';
import { limitHeaders } from './stream.ts';

export type PolicyCode = 'cyber_policy' | 'bio_policy' | 'misalignment_policy_violation';

/** What can go wrong with a valid model request. */
export type Fault =
  | {
      readonly kind: 'usage-limit';
      readonly via: 'http' | 'stream';
      readonly resetsAt?: number;
      readonly resetsInSeconds?: number;
    }
  /** Too many requests at once; unrelated to the plan. */
  | { readonly kind: 'burst' }
  | { readonly kind: 'usage-not-included' }
  | {
      readonly kind: 'overload';
      readonly via: 'http' | 'first-event' | 'first-error-event';
      readonly code?: 'server_is_overloaded' | 'slow_down';
    }
  | { readonly kind: 'policy'; readonly code: PolicyCode; readonly via: 'http' | 'stream' }
  /** Nothing more comes, and nothing ends. */
  | { readonly kind: 'silent'; readonly after: Reached }
  /** The connection is lost. */
  | { readonly kind: 'cut'; readonly after: Reached }
  /** The WebSocket is closed. */
  | { readonly kind: 'close'; readonly code: number; readonly after: Reached }
  /** The WebSocket is too old. */
  | { readonly kind: 'connection-limit' }
  /** Only on a WebSocket that has served before. */
  | { readonly kind: 'duplicate-item' };

/** How far the answer came. */
export type Reached = 'nothing' | 'created' | 'output';

const errorOf = (type: string, message: string, more: JsonObject = {}): JsonObject => ({
  error: { type, message, ...more },
});

export const CONNECTION_LIMIT = errorOf(
  'invalid_request_error',
  'Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.',
  { code: 'websocket_connection_limit_reached', param: null },
);

export interface FaultContext {
  readonly plan: string;
  readonly usedPercent: number;
}

/** The fault as a script of the model. */
export const faultScript = (fault: Fault, { plan, usedPercent }: FaultContext): Script => {
  switch (fault.kind) {
    case 'usage-limit': {
      const error = {
        type: 'usage_limit_reached',
        message: 'The usage limit has been reached',
        plan_type: plan,
        ...(fault.resetsAt !== undefined && { resets_at: fault.resetsAt }),
        ...(fault.resetsInSeconds !== undefined && { resets_in_seconds: fault.resetsInSeconds }),
      };
      return fault.via === 'http'
        ? (_, connection) => connection.reply(429, { error }, limitHeaders(plan, usedPercent))
        : failsInStream({ code: 'usage_limit_reached', ...error });
    }
    case 'burst':
      return (_, connection) => connection.reply(429, { detail: 'Too many requests' });
    case 'usage-not-included':
      return (_, connection) =>
        connection.reply(
          429,
          errorOf('usage_not_included', 'To use Codex with your ChatGPT plan, upgrade to Plus.', {
            plan_type: plan,
          }),
        );
    case 'overload': {
      const error = {
        type: 'service_unavailable_error',
        code: fault.code ?? 'server_is_overloaded',
        message: 'Our servers are currently overloaded. Please try again later.',
        param: null,
      };
      if (fault.via === 'http') return (_, connection) => connection.reply(503, { error });
      return fault.via === 'first-event'
        ? failsInStream(error, 'at-once')
        : (_, connection) => connection.event({ type: 'error', sequence_number: 0, error });
    }
    case 'policy': {
      const error = {
        type: 'invalid_request_error',
        code: fault.code,
        message: `This request was refused under a policy (${fault.code}).`,
        param: null,
      };
      return fault.via === 'http'
        ? (_, connection) => connection.reply(400, { error })
        : failsInStream(error);
    }
    case 'silent':
      return breaksOff(fault.after, (connection) => connection.hang());
    case 'cut':
      return breaksOff(fault.after, cut);
    case 'close':
      return breaksOff(fault.after, (connection) => closeSocket(connection, fault.code));
    case 'connection-limit':
      return (_, connection) => {
        connection.reply(400, CONNECTION_LIMIT);
        return closeSocket(connection, 1000);
      };
    case 'duplicate-item':
      return (_, connection) =>
        connection.reply(
          400,
          errorOf('invalid_request_error', 'Duplicate item found with id msg_1.', {
            code: null,
            param: 'input',
          }),
        );
    default:
      return assertNever(fault);
  }
};

/** A connection that is reset takes what its reader has not yet read with it. */
const READ_MS = 50;

const cut = async (connection: ModelConnection): Promise<void> => {
  await connection.flush();
  await connection.wait(READ_MS);
  connection.destroy();
};

const closeSocket = (connection: ModelConnection, code: number): Promise<void> | void =>
  isFrameConnection(connection) ? connection.close(code, 'a fault') : cut(connection);

/** An answer that comes as far as that, and what happens then. */
const breaksOff =
  (after: Reached, then: (connection: ModelConnection) => Promise<void> | void): Script =>
  async ({ body }, connection) => {
    const item = { id: 'msg_broken', type: 'message', role: 'assistant', content: [], phase: null };
    const at = { item_id: item.id, output_index: 0, content_index: 0 };
    if (after !== 'nothing')
      connection.event({
        type: 'response.created',
        sequence_number: 0,
        response: {
          id: 'resp_broken',
          object: 'response',
          model: body['model'],
          status: 'in_progress',
          output: [],
          error: null,
        },
      });
    if (after === 'output') {
      connection.event({ type: 'response.output_item.added', sequence_number: 1, output_index: 0, item });
      connection.event({ type: 'response.output_text.delta', sequence_number: 2, ...at, delta: 'Half of ' });
    }
    await then(connection);
  };

const failsInStream =
  (error: JsonObject, when: 'at-once' | 'after-created' = 'after-created'): Script =>
  ({ body }, connection) => {
    const response = { id: 'resp_failed', object: 'response', model: body['model'], output: [] };
    if (when === 'after-created')
      connection.event({
        type: 'response.created',
        sequence_number: 0,
        response: { ...response, status: 'in_progress', error: null },
      });
    connection.event({
      type: 'response.failed',
      sequence_number: when === 'at-once' ? 0 : 1,
      response: { ...response, status: 'failed', error },
    });
  };
