import type { SessionFacts } from '../../observe/request-end.ts';

/**
 * Headers that identify a conversation, the most specific first: threads started by one session are separate
 * conversations. The oldest versions of codex called a thread a conversation.
 */
const THREAD_HEADERS = ['thread-id', 'conversation_id', 'conversation-id'];
const SESSION_HEADERS = ['session-id', 'session_id', 'x-session-id', 'x-claude-code-session-id'];
/** Claude Code's subagents send the session of their parent. */
const SUBAGENT_HEADERS = ['x-openai-subagent', 'x-claude-code-agent-id'];
const ORIGINATOR_HEADER = 'originator';

/** Every header read here. */
export const NAMING_HEADERS: readonly string[] = [
  ...THREAD_HEADERS,
  ...SESSION_HEADERS,
  ...SUBAGENT_HEADERS,
  ORIGINATOR_HEADER,
];

/**
 * The conversation named by the headers. A subagent has its own prompt, and so its own cache. The program is not part of
 * the key: a conversation may continue in another one.
 */
export const conversationNamedIn = (headers: Headers): string | null => {
  const name = firstOf(headers, [...THREAD_HEADERS, ...SESSION_HEADERS]);
  const subagent = firstOf(headers, SUBAGENT_HEADERS);
  return name === null || subagent === null ? name : JSON.stringify([name, subagent]);
};

/** The same for the log, without values that do not look like names; null if nothing is left. */
export const namedSessionOf = (headers: Headers): SessionFacts | null => {
  const named = {
    thread: saneOf(firstOf(headers, THREAD_HEADERS)),
    session: saneOf(firstOf(headers, SESSION_HEADERS)),
    subagent: saneOf(firstOf(headers, SUBAGENT_HEADERS)),
    originator: saneOf(headers.get(ORIGINATOR_HEADER)),
  };
  return Object.values(named).every((value) => value === null) ? null : named;
};

/** Safe in a log line: ids, and program names, which may contain spaces. */
const SANE = /^[A-Za-z0-9](?:[A-Za-z0-9 ._:/-]{0,126}[A-Za-z0-9])?$/;

const saneOf = (value: string | null): string | null => (value !== null && SANE.test(value) ? value : null);

const firstOf = (headers: Headers, names: readonly string[]): string | null => {
  for (const name of names) {
    const value = headers.get(name);
    if (value !== null && value !== '') return value;
  }
  return null;
};
