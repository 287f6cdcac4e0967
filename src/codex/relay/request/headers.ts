import type { IncomingHttpHeaders } from 'node:http';

import type { TraceContext } from '../../../canonical/context/trace.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { secretHider } from '../../../kit/text/hide-secrets.ts';
import { endToEnd, type Headers } from '../../end-to-end-headers.ts';
import { asciiJson, withTurnNotes, type TurnNotes } from './turn-metadata.ts';

/** The app-server's names of the thread, model and turn of a request, and the backend's. */
export interface Session {
  readonly threadId: string;
  readonly session: string;
  readonly slug: string;
  readonly model: string;
  readonly turn: TurnNotes;
  /** The turn metadata of a client that is codex itself. */
  readonly clientMetadata: JsonObject | null;
  /** Which model and tier a request is for, as codex tells its own service; absent: other backends. */
  readonly routingHint?: string;
  /** The trace context for the backend; absent: the app-server's own. */
  readonly traceContext?: TraceContext;
}

/** Replaces codex's names in a text by those that the backend knows. */
export const inBackendNames = (text: string, { threadId, session, slug, model, turn }: Session): string => {
  const named = withTurnNotes(text.replaceAll(threadId, session), turn);
  // A function: in a text `$` would have a meaning.
  return slug === model ? named : named.replaceAll(JSON.stringify(slug), () => asciiJson(model));
};

/** Headers that make a backend treat us as a proxy for many users. */
const ABOUT_FORWARDING = /^(?:forwarded|via|x-real-ip|true-client-ip|x-forwarded-.*|cf-.*)$/;

/** The headers of a model request; its body may differ from the app-server's, and the key may be ours. */
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
    // A `tracestate` belongs to its own `traceparent`.
    if (traceContext.tracestate === null) delete passed['tracestate'];
    else passed['tracestate'] = traceContext.tracestate;
  }
  // The answer is read on its way back, so it must not be compressed.
  delete passed['accept-encoding'];
  for (const [name, value] of Object.entries(passed)) {
    if (typeof value === 'string' && isAboutSession(name)) {
      passed[name] = clientNote(name, session.clientMetadata) ?? inBackendNames(value, session);
    }
  }
  if (session.routingHint !== undefined) passed['x-codex-routing-hint'] = session.routingHint;
  return passed;
};

/** For the header `x-codex-routing-hint`; undefined for a model name that no header can have. */
export const routingHintOf = (model: string, tier: string | null): string | undefined => {
  const hint = tier === null ? `model=${model}` : `model=${model};tier=${tier}`;
  return hint.length <= MAX_HINT && HEADER_VALUE.test(hint) ? hint : undefined;
};

const MAX_HINT = 256;
/** Maximum length of turn metadata in a header. */
const MAX_NOTE = 8 * 1024;
const HEADER_VALUE = /^[\x20-\x7e]+$/;

/** codex sends its turn metadata in headers and in the body: both must describe the same turn. */
const clientNote = (name: string, notes: JsonObject | null): string | null => {
  const own =
    name.startsWith('x-codex-') && notes !== null && Object.hasOwn(notes, name) ? notes[name] : null;
  return typeof own === 'string' && own.length <= MAX_NOTE && HEADER_VALUE.test(own) ? own : null;
};

/** codex sends its thread id in several headers; a backend must not see two ids for one conversation. */
const isAboutSession = (name: string): boolean =>
  name === 'session-id' ||
  name === 'thread-id' ||
  name === 'x-client-request-id' ||
  name.startsWith('x-codex-');

/** Headers for the client: request id and rate limits, without secrets: a limit may be named after the key. */
export const callerHeaders = (
  headers: IncomingHttpHeaders,
  secrets: readonly string[],
): Record<string, string> => {
  const hide = secretHider(secrets);
  const told: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (name === 'x-request-id') told['x-upstream-request-id'] = hide(String(value));
    else if (name.startsWith('x-ratelimit-') || isCodexLimit(name)) told[name] = hide(String(value));
  }
  return told;
};

/** Usage of a ChatGPT plan. The turn state is only for codex and its backend. */
const isCodexLimit = (name: string): boolean => name.startsWith('x-codex-') && name !== 'x-codex-turn-state';

/** In whole seconds; null without a valid value. */
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
