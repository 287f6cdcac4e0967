/** Headers by which clients name a conversation; codex and its relatives send these. */
const SESSION_HEADERS = ['session-id', 'session_id', 'conversation_id', 'conversation-id', 'x-session-id'];

/** The conversation or session that a client says its request belongs to. */
export const sessionOf = (headers: Headers): string | null => {
  for (const name of SESSION_HEADERS) {
    const value = headers.get(name);
    if (value !== null && value !== '') return value;
  }
  return null;
};
