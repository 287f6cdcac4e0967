import { failureOf } from '../../canonical/failure/failure.ts';
import type { IdSource } from '../../kit/ambient.ts';
import { objectsIn, textIn, type Json, type JsonObject } from '../../kit/json/json.ts';
import { readSteerEvent } from '../../openai/responses/input/steer.ts';
import type { ResponseStream } from './messages.ts';

/** For one response. */
const MAX_PENDING = 16;
const MAX_PENDING_BYTES = 1024 * 1024;
/** Responses of a connection whose steering input waits for outputs of tools. */
const MAX_WAITING_RESPONSES = 16;

/** Ended responses that are known as such. */
const MAX_ENDED = 64;

/** Why input cannot be used: OpenAI's codes. */
type SteerError =
  | 'response_not_found'
  | 'invalid_input'
  | 'steering_not_supported'
  | 'too_many_pending_steers'
  | 'response_already_completed'
  | 'response_not_active'
  | 'successor_creation_failed';

/** Input for a response that the client has sent while it ran. */
export interface Steer {
  readonly id: string;
  /** As the client sent it. */
  readonly input: Json;
  readonly items: readonly JsonObject[];
  readonly bytes: number;
}

/** A running response. */
export interface SteerTarget {
  readonly id: string;
  readonly stream: ResponseStream;
  /** Whether another response can continue it with more input. */
  readonly canBeSteered: boolean;
  readonly pending: Steer[];
}

export interface SteeringOptions {
  readonly ids: IdSource;
  /** For events about responses that do not run. */
  readonly openStream: () => ResponseStream;
}

/**
 * `response.steer`: input for a running response. The response ends between two items, and a response that the connection
 * creates by itself continues it. If it ends with calls for the client, the input waits for the request with their
 * outputs.
 */
export class Steering {
  readonly #options: SteeringOptions;
  readonly #running = new Map<string, SteerTarget>();
  /** Ended responses, the oldest first. */
  readonly #waiting = new Map<string, SteerTarget>();
  /** The latest ids, the oldest first. */
  readonly #ended = new Set<string>();

  constructor(options: SteeringOptions) {
    this.#options = options;
  }

  /** A response begins. Until `ended` it can be steered. */
  open(target: Omit<SteerTarget, 'pending'>): SteerTarget {
    const running = { ...target, pending: [] };
    this.#running.set(target.id, running);
    return running;
  }

  /** Answers the event. Null: there is nothing to wait for before the next one. */
  steer(responseId: string, event: JsonObject, bytes: number): Promise<void> | null {
    const target = this.#running.get(responseId);
    const input = event['input'] ?? null;
    if (target === undefined) {
      const code = this.#ended.has(responseId) ? 'response_already_completed' : 'response_not_found';
      return this.#fail({ input }, responseId, code, this.#options.openStream());
    }
    const { stream, pending } = target;
    const refused = refusalOf(target, bytes);
    if (refused !== null) return this.#fail({ input }, responseId, refused, stream);
    let items: readonly JsonObject[];
    try {
      items = readSteerEvent(event);
    } catch (error) {
      return this.#fail({ input }, responseId, 'invalid_input', stream, failureOf(error).message);
    }
    const id = this.#options.ids.mint('steer');
    pending.push({ id, input, items, bytes });
    return stream.event({
      type: 'response.steer.accepted',
      sequence_number: 0,
      steer: { id, previous_response_id: responseId },
    });
  }

  /**
   * A response has ended, with this object, or without one. Returns the input with which another response continues it;
   * empty: none does.
   */
  ended(target: SteerTarget, response: JsonObject | null): readonly Steer[] {
    this.#running.delete(target.id);
    this.#ended.add(target.id);
    if (this.#ended.size > MAX_ENDED) this.#ended.delete(this.#ended.values().next().value ?? '');
    const { pending } = target;
    if (pending.length === 0) return [];
    if (response === null || textIn(response, 'status') === 'failed') {
      this.failed(pending, target, 'response_not_active');
      return [];
    }
    const required = requiredInput(objectsIn(response, 'output'));
    if (required.length === 0) return pending;
    for (const { id } of pending) {
      void target.stream.event({
        type: 'response.steer.pending',
        sequence_number: 0,
        steer: { id, previous_response_id: target.id },
        reason: 'waiting_for_required_input',
        required_input: required,
      });
    }
    this.#keep(target);
    return [];
  }

  /** The input that waits for a request which continues this response in its lane. */
  take(responseId: string, lane: string | null): SteerTarget | null {
    const target = this.#waiting.get(responseId);
    if (target === undefined || target.stream.streamId !== lane) return null;
    this.#waiting.delete(responseId);
    return target;
  }

  /** Gives input back to the client. */
  failed(steers: readonly Steer[], { id, stream }: SteerTarget, code: SteerError): void {
    for (const steer of steers) void this.#fail(steer, id, code, stream);
  }

  #keep(target: SteerTarget): void {
    this.#waiting.set(target.id, target);
    if (this.#waiting.size <= MAX_WAITING_RESPONSES) return;
    const [oldest] = this.#waiting.values();
    if (oldest === undefined) return;
    this.#waiting.delete(oldest.id);
    this.failed(oldest.pending, oldest, 'too_many_pending_steers');
  }

  #fail(
    { id, input }: Pick<Steer, 'input'> & { readonly id?: string },
    responseId: string,
    code: SteerError,
    stream: ResponseStream,
    message = MESSAGES[code],
  ): Promise<void> | null {
    return stream.event({
      type: 'response.steer.failed',
      sequence_number: 0,
      error: { type: 'invalid_request_error', code, message },
      steer: { ...(id === undefined ? {} : { id }), previous_response_id: responseId, input },
    });
  }
}

const refusalOf = ({ canBeSteered, pending }: SteerTarget, bytes: number): SteerError | null => {
  if (!canBeSteered) return 'steering_not_supported';
  const total = pending.reduce((sum, steer) => sum + steer.bytes, bytes);
  return pending.length >= MAX_PENDING || total > MAX_PENDING_BYTES ? 'too_many_pending_steers' : null;
};

const MESSAGES: Readonly<Record<SteerError, string>> = {
  response_not_found: 'No response with this id is available on this connection.',
  invalid_input: 'The input is not valid.',
  steering_not_supported: 'Responses of a conversation, or with automatic compaction, cannot be steered.',
  too_many_pending_steers: `Too much steering input is pending: at most ${MAX_PENDING} events and ${MAX_PENDING_BYTES} bytes for a response, and ${MAX_WAITING_RESPONSES} responses that wait for tool outputs.`,
  response_already_completed: 'The response has ended already.',
  response_not_active: 'The response has failed.',
  successor_creation_failed: 'The response that continues it could not be created.',
};

/** What a client has to send for each of its calls in an answer, without the results. */
export const requiredInput = (output: readonly JsonObject[]): readonly JsonObject[] => {
  // Some tools run at the backend: then their output is there already.
  const answered = new Set(
    output.filter((item) => textIn(item, 'type').endsWith('_output')).map((item) => textIn(item, 'call_id')),
  );
  return output.flatMap((item) => {
    const stub = answered.has(textIn(item, 'call_id')) ? null : stubOf(item);
    return stub === null ? [] : [stub];
  });
};

/** Calls whose output has only the id of the call. */
const OUTPUTS: Readonly<Record<string, string>> = {
  custom_tool_call: 'custom_tool_call_output',
  computer_call: 'computer_call_output',
  shell_call: 'shell_call_output',
  local_shell_call: 'local_shell_call_output',
  apply_patch_call: 'apply_patch_call_output',
};

const stubOf = (item: JsonObject): JsonObject | null => {
  const type = textIn(item, 'type');
  const callId = textIn(item, 'call_id');
  if (type === 'function_call')
    return { type: 'function_call_output', call_id: callId, name: textIn(item, 'name') };
  if (type === 'tool_search_call') {
    return item['execution'] === 'client'
      ? { type: 'tool_search_output', call_id: callId, execution: 'client' }
      : null;
  }
  if (type === 'mcp_approval_request') {
    return { type: 'mcp_approval_response', approval_request_id: textIn(item, 'id') };
  }
  const output = Object.hasOwn(OUTPUTS, type) ? OUTPUTS[type] : undefined;
  return output === undefined ? null : { type: output, call_id: callId };
};
