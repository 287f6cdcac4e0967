import { atOnce } from '../kit/async/event-loop.ts';
import { isJsonObject } from '../kit/json/json.ts';
import type { ConversationRow } from '../store/store.ts';
import { corrupt, parseBody } from './stored-turn.ts';

export type Metadata = Readonly<Record<string, string>>;

const FORM = 1;

export const conversationBody = (metadata: Metadata): string => JSON.stringify({ form: FORM, metadata });

/** Throws if the row is not what this program wrote. */
export const readConversation = ({ id, body }: Pick<ConversationRow, 'id' | 'body'>): Metadata => {
  const { form, metadata } = atOnce(parseBody(body, `conversation ${id}`));
  if (form !== FORM || !isMetadata(metadata)) throw corrupt(`conversation ${id}`);
  return metadata;
};

const isMetadata = (value: unknown): value is Metadata =>
  isJsonObject(value) && Object.values(value).every((one) => typeof one === 'string');
