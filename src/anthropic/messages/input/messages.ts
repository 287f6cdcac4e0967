import type { Item, Part, Role } from '../../../canonical/request/item.ts';
import { rejectTooManyParts } from '../../../apis/bounds.ts';
import { emptyArray, missing, readTagged } from '../../../apis/validation.ts';
import { readParts } from './content-blocks.ts';

export interface ReadMessages {
  readonly items: readonly Item[];
  /** The location of each item in the body. */
  readonly places: readonly string[];
}

const ROLES = ['user', 'assistant', 'system'] as const satisfies readonly Role[];

/** Reads the conversation: the system prompt in front, then the messages. */
export const readMessages = (
  system: string | readonly unknown[] | null | undefined,
  messages: readonly unknown[],
): ReadMessages => {
  rejectTooManyParts(messages, 'messages');
  if (messages.length === 0) throw emptyArray('messages');
  const items: Item[] = [];
  const places: string[] = [];
  const add = (role: Role, parts: readonly Part[], at: string): void => {
    if (parts.length === 0) return;
    items.push({ kind: 'message', role, parts });
    places.push(at);
  };
  if (system !== undefined && system !== null) add('system', readParts(system, 'system'), 'system');
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    const { tag: role, object } = readTagged(message, 'role', ROLES, at);
    if (object['content'] === undefined) throw missing(`${at}.content`);
    add(role, readParts(object['content'], `${at}.content`), at);
  }
  return { items, places };
};
