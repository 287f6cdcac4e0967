import type { IdSource } from '../kit/ambient.ts';

const PREFIX = 'conv';

export const newConversationId = (ids: IdSource): string => ids.mint(PREFIX);

/** Whether a segment is, or was, a conversation with a name. */
export const isConversationId = (segment: string): boolean => segment.startsWith(`${PREFIX}_`);
