import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { promptMark } from './prompt-marks.ts';
import { LIBRARY_SIGNS, PROGRAM_SIGNS, type ClientName, type HeaderMarker } from './markers.ts';

/** Who asks, as far as that can be seen. */
export interface ClientSeen {
  readonly family: ClientName;
  /** By what it was recognised. */
  readonly tier: 'header' | 'body' | 'none';
  /** The signs that were found, for the log. */
  readonly reasons: readonly string[];
}

const NOBODY: ClientSeen = { family: 'other', tier: 'none', reasons: [] };

/** Headers of a program say it best, then what stands in a conversation, then which library it was made with. */
export const recogniseClient = (headers: Headers, request: TurnRequest): ClientSeen =>
  byHeaders(headers, PROGRAM_SIGNS) ?? byPrompt(request) ?? byHeaders(headers, LIBRARY_SIGNS) ?? NOBODY;

const byHeaders = (headers: Headers, markers: readonly HeaderMarker[]): ClientSeen | null => {
  const found = markers.filter((marker) => isIn(headers, marker));
  const family = found[0]?.family;
  if (family === undefined) return null;
  return {
    family,
    tier: 'header',
    reasons: found.filter((marker) => marker.family === family).map(({ name }) => name),
  };
};

const isIn = (headers: Headers, marker: HeaderMarker): boolean =>
  Object.entries(marker.headers).every(([name, pattern]) => pattern.test(headers.get(name) ?? ''));

/** Who declares tools has no use for blocks: that its conversation holds one says nothing. */
const byPrompt = (request: TurnRequest): ClientSeen | null => {
  const mark = request.tools.length > 0 ? null : promptMark(request);
  return mark === null ? null : { family: 'obsidian-copilot', tier: 'body', reasons: [mark] };
};
