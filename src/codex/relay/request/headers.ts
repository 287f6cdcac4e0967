import type { IncomingHttpHeaders } from 'node:http';

import type { TraceContext } from '../../../canonical/context/turn-context.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { hideSecrets } from '../../../kit/text/hide-secrets.ts';
import { endToEnd, type Headers } from '../../end-to-end-headers.ts';

/** What the app-server calls the thread and the model of a request, and what the backend is told. */
export interface Session {
  readonly threadId: string;
  readonly session: string;
  readonly slug: string;
  readonly model: string;
  /** What a client that is codex itself notes about its turn. */
  readonly clientMetadata: JsonObject | null;
  /** The trace that the backend is told of; absent: whatever the app-server says. */
  readonly traceContext?: TraceContext;
}

/** A text of codex's with the names that the backend knows. */
export const inBackendNames = (text: string, { threadId, session, slug, model }: Session): string => {
  const told = text.replaceAll(threadId, session);
  return slug === model ? told : told.replaceAll(JSON.stringify(slug), JSON.stringify(model));
};

/** A backend that meets these takes us for something that stands in front of many others. */
const ABOUT_FORWARDING = /^(?:forwarded|via|x-real-ip|true-client-ip|x-forwarded-.*|cf-.*)$/;

/** The headers of a request of the app-server: its body may be another, and its key may be ours. */
export const requestHeaders = (
  headers: IncomingHttpHeaders,
  session: Session | null,
  apiKey: string | null,
): Headers => {
  const passed = endToEnd(headers);
  for (const name of Object.keys(passed)) if (ABOUT_FORWARDING.test(name)) delete passed[name];
  delete passed['content-length'];
  if (apiKey !== null) passed['authorization'] = `Bearer ${apiKey}`;
  if (session === null) return passed;
  const { traceContext } = session;
  if (traceContext !== undefined) {
    passed['traceparent'] = traceContext.traceparent;
    // A state belongs to its own parent.
    if (traceContext.tracestate === null) delete passed['tracestate'];
    else passed['tracestate'] = traceContext.tracestate;
  }
  // The answer is read on its way back, so it must come as it is.
  delete passed['accept-encoding'];
  for (const [name, value] of Object.entries(passed)) {
    if (typeof value === 'string' && isAboutSession(name)) {
      passed[name] = clientNote(name, session.clientMetadata) ?? inBackendNames(value, session);
    }
  }
  return passed;
};

/** The longest note about a turn that is put into a header. */
const MAX_NOTE = 8 * 1024;
const HEADER_VALUE = /^[\x20-\x7e]+$/;

/** codex says the same about a turn in headers and in the body: a backend must not hear of two turns. */
const clientNote = (name: string, notes: JsonObject | null): string | null => {
  const own =
    name.startsWith('x-codex-') && notes !== null && Object.hasOwn(notes, name) ? notes[name] : null;
  return typeof own === 'string' && own.length <= MAX_NOTE && HEADER_VALUE.test(own) ? own : null;
};

/** codex says its thread's id in several places; a backend must not see two ids of one conversation. */
const isAboutSession = (name: string): boolean =>
  name === 'session-id' ||
  name === 'thread-id' ||
  name === 'x-client-request-id' ||
  name.startsWith('x-codex-');

/**
 * What the client may want to know: the backend's request id, and how much of its limits is left. A backend may
 * name a limit after the key that it is for.
 */
export const callerHeaders = (
  headers: IncomingHttpHeaders,
  secrets: readonly string[],
): Record<string, string> => {
  const hide = hideSecrets(secrets);
  const told: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (name === 'x-request-id') told['x-upstream-request-id'] = hide(String(value));
    else if (name.startsWith('x-ratelimit-') || isCodexLimit(name)) told[name] = hide(String(value));
  }
  return told;
};

/** How much of a ChatGPT plan is used; the state of a turn is between codex and its backend. */
const isCodexLimit = (name: string): boolean => name.startsWith('x-codex-') && name !== 'x-codex-turn-state';

/** In whole seconds; null where nothing sensible is said. */
export const retryAfterOf = (headers: IncomingHttpHeaders, nowMs: number): number | null => {
  const value = headers['retry-after'];
  if (value !== undefined) {
    const seconds = /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : (Date.parse(value) - nowMs) / 1000;
    return wholeSeconds(seconds);
  }
  const ms = headers['retry-after-ms'];
  return typeof ms === 'string' && /^\d+(?:\.\d+)?$/.test(ms) ? wholeSeconds(Number(ms) / 1000) : null;
};

const wholeSeconds = (seconds: number): number | null =>
  Number.isFinite(seconds) && seconds >= 0 ? Math.ceil(seconds) : null;
