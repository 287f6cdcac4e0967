import type { IncomingHttpHeaders } from 'node:http';
import { createHash } from 'node:crypto';

import { parseJsonObject, textIn, type JsonObject } from '../../../kit/json/json.ts';

/** What codex writes about the turn into a header of its model request. */
export interface TurnMetadata {
  /** `turn` for the request of a turn; others, such as `compaction`, are codex's own. */
  readonly requestKind: string;
  readonly turnId: string;
}

/** Empty fields if codex did not send it. */
export const turnMetadataOf = (headers: IncomingHttpHeaders): TurnMetadata => {
  const header = headers['x-codex-turn-metadata'];
  const metadata = (typeof header === 'string' ? parseJsonObject(header) : null) ?? {};
  return { requestKind: textIn(metadata, 'request_kind'), turnId: textIn(metadata, 'turn_id') };
};

/** The turn as the backend knows it. The app-server may have started its own turn minutes earlier. */
export interface TurnNotes {
  /** The app-server's id, and the backend's. */
  readonly appServerTurnId: string;
  readonly turnId: string;
  readonly startedAtMs: number;
  /** The same for all turns of a conversation. */
  readonly windowId: string;
  /** Null: the default of the model, which the app-server knows. */
  readonly effort: string | null;
}

/** A text about the turn, with the backend's id of it; metadata in JSON also has its times and effort. */
export const withTurnNotes = (text: string, notes: TurnNotes): string => {
  const named = notes.appServerTurnId === '' ? text : text.replaceAll(notes.appServerTurnId, notes.turnId);
  const metadata = named.startsWith('{') ? parseJsonObject(named) : null;
  if (metadata === null) return named;
  const { startedAtMs, windowId, effort } = notes;
  const written = new Map<string, string | number>([
    ['turn_started_at_unix_ms', startedAtMs],
    ['context_window_id', windowId],
    ...(effort === null ? [] : [['reasoning_effort', effort] as const]),
  ]);
  const own = Object.entries(metadata).map(([name, value]) => [name, written.get(name) ?? value] as const);
  // codex does not know the effort of a turn that it started ahead.
  const isIncomplete = effort !== null && 'request_kind' in metadata && !('reasoning_effort' in metadata);
  return asciiJson(Object.fromEntries([...own, ...(isIncomplete ? [['reasoning_effort', effort]] : [])]));
};

/** Headers must be ASCII, and codex escapes everything else. */
export const asciiJson = (value: JsonObject | string): string =>
  JSON.stringify(value).replaceAll(
    /[\u0080-\uffff]/g,
    (char) => String.raw`\u` + char.charCodeAt(0).toString(16).padStart(4, '0'),
  );

/** An id of the conversation's context window: a UUIDv7 of the same time as the conversation's own, and always the same. */
export const windowIdOf = (session: string): string => {
  const hex = createHash('sha256').update(session).digest('hex');
  const variant = '89ab'[Number.parseInt(hex.slice(3, 4), 16) % 4];
  return `${session.slice(0, 13)}-7${hex.slice(0, 3)}-${variant}${hex.slice(4, 7)}-${hex.slice(7, 19)}`;
};

/** An agent signs each request with its time. How old a signature may be is not known. */
const SIGNED_FOR_MS = 90_000;

/** When the credentials of a request expire, in milliseconds since the epoch; null if they do not say. */
export const credentialsExpiryOf = ({ authorization }: IncomingHttpHeaders, nowMs: number): number | null => {
  if (authorization?.startsWith('AgentAssertion ') === true) return nowMs + SIGNED_FOR_MS;
  const payload = authorization?.split('.')[1];
  if (payload === undefined) return null;
  const claims: JsonObject | null = parseJsonObject(Buffer.from(payload, 'base64url').toString('utf8'));
  const expiry = claims?.['exp'];
  return typeof expiry === 'number' ? expiry * 1000 : null;
};
