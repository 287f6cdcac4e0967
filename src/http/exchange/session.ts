import type { SessionFacts } from '../../observe/access-log.ts';

/**
 * Headers by which clients name a conversation, the most exact first: threads that one session has started are
 * conversations of their own. The oldest versions of codex called a thread a conversation.
 */
const THREAD_HEADERS = ['thread-id', 'conversation_id', 'conversation-id'];
const SESSION_HEADERS = ['session-id', 'session_id', 'x-session-id'];
const SUBAGENT_HEADER = 'x-openai-subagent';
const ORIGINATOR_HEADER = 'originator';

/** Every header that is looked at. */
export const NAMING_HEADERS: readonly string[] = [
  ...THREAD_HEADERS,
  ...SESSION_HEADERS,
  SUBAGENT_HEADER,
  ORIGINATOR_HEADER,
];

/**
 * The conversation that a client says its request belongs to. A helper has a prompt of its own, and so a cache of its
 * own. Which program asks does not matter: a conversation may go on in another one.
 */
export const sessionOf = (headers: Headers): string | null => {
  const name = firstOf(headers, [...THREAD_HEADERS, ...SESSION_HEADERS]);
  const subagent = headers.get(SUBAGENT_HEADER) ?? '';
  return name === null || subagent === '' ? name : JSON.stringify([name, subagent]);
};

/** The same for the log: values that would not look like names there are left out. Null: nothing is named. */
export const namedSessionOf = (headers: Headers): SessionFacts | null => {
  const named = {
    thread: saneOf(firstOf(headers, THREAD_HEADERS)),
    session: saneOf(firstOf(headers, SESSION_HEADERS)),
    subagent: saneOf(headers.get(SUBAGENT_HEADER)),
    originator: saneOf(headers.get(ORIGINATOR_HEADER)),
  };
  return Object.values(named).every((value) => value === null) ? null : named;
};

/** What may go into a log line as it is: ids, and names of programs, which may have spaces. */
const SANE = /^[A-Za-z0-9](?:[A-Za-z0-9 ._:/-]{0,126}[A-Za-z0-9])?$/;

const saneOf = (value: string | null): string | null => (value !== null && SANE.test(value) ? value : null);

const firstOf = (headers: Headers, names: readonly string[]): string | null => {
  for (const name of names) {
    const value = headers.get(name);
    if (value !== null && value !== '') return value;
  }
  return null;
};
