import type { IdSource } from '../../../kit/ambient.ts';

/**
 * The layout `message-first` begins an answer without text with an empty message. Its id says so:
 * a client may send back a reference instead of the message, and there is nothing to look up for it.
 */
const PREFIX = 'msg_empty';

export const mintPlaceholderId = (ids: IdSource): string => ids.mint(PREFIX);

export const isPlaceholderId = (id: string): boolean => id.startsWith(`${PREFIX}_`);
