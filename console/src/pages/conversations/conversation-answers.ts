import type { List } from '../../api/use-pages.ts';

/** A row of `GET /v1/codex/conversations`. Times are seconds since 1970. */
export interface Conversation {
  readonly id: string;
  readonly kind: 'chain' | 'conversation';
  readonly key_id: string;
  readonly turns: number;
  readonly forked_from: { readonly id: string; readonly turns: number } | null;
  readonly created_at: number;
  readonly updated_at: number;
  readonly expires_at: number;
}

/** An item of the Responses API. Which members it has depends on its type. */
export type Item = { readonly id: string; readonly type: string } & Readonly<Record<string, unknown>>;

export interface Turn {
  readonly id: string;
  readonly response_id: string | null;
  readonly items: readonly Item[];
  /** Why it cannot be read. */
  readonly error: string | null;
}

/** `GET /v1/codex/conversations/{id}`. */
export interface ConversationWithTurns extends Conversation {
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly history: List<Turn>;
}

const PATH = '/v1/codex/conversations';

export const listPath = (keyId: string, after: string | null): string => {
  const query = new URLSearchParams({ limit: '50' });
  if (keyId !== '') query.set('key_id', keyId);
  if (after !== null) query.set('after', after);
  return `${PATH}?${query.toString()}`;
};

export const conversationPath = (id: string): string => `${PATH}/${encodeURIComponent(id)}`;

/** With images, but without the encrypted reasoning, which people cannot read. */
export const historyPath = (id: string, after: string | null): string => {
  const query = new URLSearchParams({ limit: '20' });
  for (const field of ['message.input_image.image_url', 'computer_call_output.output.image_url'])
    query.append('include[]', field);
  if (after !== null) query.set('after', after);
  return `${conversationPath(id)}?${query.toString()}`;
};
