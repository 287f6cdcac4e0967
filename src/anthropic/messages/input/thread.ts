import { z } from 'zod';

import { gatewayError, type GatewayError } from '../../../canonical/failure/failure.ts';
import type { Item, Opaque } from '../../../canonical/request/item.ts';
import { idText } from '../../../apis/bounds.ts';
import { parseBody, readTagged } from '../../../apis/validation.ts';
import { isJsonObject, listIn, type Json, type JsonObject } from '../../../kit/json/json.ts';
import type { Continues } from '../../../turns/api.ts';
import type { ClientNames } from '../tool-names.ts';

/** Where error messages place what a thread holds. */
export const THREAD_PLACE = 'thread.previous_message_id';

const continueSchema = z.object({ previous_message_id: idText });

export interface ThreadField {
  /** Whether the answer can be continued. */
  readonly isThread: boolean;
  readonly continues: Continues | null;
}

/** Reads the field `thread` of a body, before anything else of it. */
export const readThread = (body: unknown, stores: boolean): ThreadField => {
  const thread = isJsonObject(body) ? (body['thread'] ?? null) : null;
  if (thread === null) return { isThread: false, continues: null };
  const { tag, object } = readTagged(thread, 'type', ['create', 'continue'], 'thread');
  if (!stores) throw unsupported();
  if (tag === 'create') return { isThread: true, continues: null };
  const { previous_message_id: id } = parseBody(continueSchema, object, 'thread');
  return { isThread: true, continues: { kind: 'message', id } };
};

/** Anthropic's SDK reads the details, and sends the whole conversation without a thread. */
const unsupported = (): GatewayError =>
  gatewayError('thread_unsupported_request', {
    param: 'thread',
    message: 'thread: this server stores nothing (PROXY_STORE=off). Send the whole conversation without it.',
    more: { details: { error_code: 'thread_unsupported_request', unsupported: ['store'] } },
  });

/** What a thread has besides the items of its conversation. */
export interface ThreadState {
  /** The tools of its first request, as the client sent them. */
  readonly tools: readonly unknown[];
  /** The names of tools that were withdrawn. */
  readonly removed: readonly string[];
  /** The effort that its last system message with one asks for; null: none does. */
  readonly effort: string | null;
  readonly clientNames: ClientNames;
}

export interface Thread extends ThreadState {
  readonly items: readonly Item[];
}

const STATE = 'messages_thread';

/** The state in front of the stored items of a request. Only the first request of a thread has tools. */
export const stateItem = ({
  tools,
  removed,
  effort,
  clientNames,
}: Omit<ThreadState, 'tools'> & { readonly tools: readonly unknown[] | null }): Opaque => ({
  kind: 'opaque',
  raw: {
    type: STATE,
    ...(tools === null ? {} : { tools: tools as readonly Json[] }),
    removed,
    effort,
    names: [...clientNames].map(([name, client]) => [name, client]),
  },
});

const stateOf = (item: Item): Opaque['raw'] | null =>
  item.kind === 'opaque' && item.raw.type === STATE ? item.raw : null;

/** Takes the states out of the stored items of a thread. Null: the request does not continue one. */
export const openThread = (chain: readonly Item[]): Thread | null => {
  if (chain.length === 0) return null;
  const states = chain.flatMap((item) => stateOf(item) ?? []);
  const last: JsonObject = states.at(-1) ?? {};
  const { effort } = last;
  return {
    items: chain.filter((item) => stateOf(item) === null),
    tools: states[0] === undefined ? [] : listIn(states[0], 'tools'),
    removed: listIn(last, 'removed').filter((name) => typeof name === 'string'),
    effort: typeof effort === 'string' ? effort : null,
    clientNames: new Map(listIn(last, 'names') as readonly (readonly [string, string])[]),
  };
};

/** Throws if a continued thread gets what only its first request may have. */
export const rejectRepeated = (fields: { readonly system?: unknown; readonly tools?: unknown }): void => {
  const name = (['system', 'tools'] as const).find((one) => (fields[one] ?? null) !== null);
  if (name === undefined) return;
  throw gatewayError('invalid_value', {
    param: name,
    message: `${name}: a continued thread keeps the ${name} that it was created with. Leave it out, or begin another thread.`,
  });
};
