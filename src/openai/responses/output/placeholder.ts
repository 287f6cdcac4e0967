import type { IdSource } from '../../../kit/ambient.ts';

/**
 * Ids of the empty message with which the `message-first` layout begins an answer without text. A client may send back a
 * reference to it, and the id shows that there is nothing to look up.
 */
const PREFIX = 'msg_empty';

export const mintPlaceholderId = (ids: IdSource): string => ids.mint(PREFIX);

export const isPlaceholderId = (id: string): boolean => id.startsWith(`${PREFIX}_`);
