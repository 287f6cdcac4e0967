/** A conversation as it is stored. */
export interface ShownConversation {
  readonly id: string;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  readonly metadata: Readonly<Record<string, string>>;
}

export const projectConversation = ({ id, createdAt, metadata }: ShownConversation) => ({
  id,
  object: 'conversation' as const,
  created_at: Math.floor(createdAt / 1000),
  metadata,
});

export const projectDeletedConversation = (id: string) => ({
  id,
  object: 'conversation.deleted' as const,
  deleted: true,
});
