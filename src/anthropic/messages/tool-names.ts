import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { isToolCall } from '../../canonical/request/item.ts';

/** OpenAI's limit. Anthropic's is 128, and Claude Code joins the names of MCP servers and their tools. */
const MAX_NAME = 64;
const HASH_CHARS = 8;

/** The name of a tool for the backend. Always the same for the same name, because it is part of the prompt. */
export const backendName = (name: string): string =>
  name.length <= MAX_NAME ? name : `${name.slice(0, MAX_NAME - HASH_CHARS - 1)}_${hashOf(name)}`;

/** FNV-1a. */
const hashOf = (text: string): string => {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(HASH_CHARS, '0');
};

/** The client's names of tools whose name is another one for the backend, by that name. */
export type ClientNames = ReadonlyMap<string, string>;

/** The events with the client's names of tools. */
export const withClientNames = (
  events: AsyncIterable<TurnEvent>,
  names: ClientNames,
): AsyncIterable<TurnEvent> => (names.size === 0 ? events : renamed(events, names));

async function* renamed(events: AsyncIterable<TurnEvent>, names: ClientNames): AsyncGenerator<TurnEvent> {
  for await (const event of events) {
    const item = 'item' in event && isToolCall(event.item) ? event.item : null;
    const name = item === null ? undefined : names.get(item.name);
    yield item === null || name === undefined ? event : ({ ...event, item: { ...item, name } } as TurnEvent);
  }
}
