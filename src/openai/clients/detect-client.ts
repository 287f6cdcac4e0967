import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { promptMarker } from './prompt-markers.ts';
import { LIBRARY_MARKERS, PROGRAM_MARKERS, type ClientName, type HeaderMarker } from './markers.ts';

/** The client that sent a request, as far as it can be detected. */
export interface DetectedClient {
  readonly name: ClientName;
  /** Where its markers were found. */
  readonly source: 'header' | 'body' | 'none';
  /** The markers that matched, for the log. */
  readonly reasons: readonly string[];
}

const UNKNOWN_CLIENT: DetectedClient = { name: 'other', source: 'none', reasons: [] };

/** Detects the client: by headers of a program, else by its prompt, else by headers of a library. */
export const detectClient = (headers: Headers, request: TurnRequest): DetectedClient =>
  byHeaders(headers, PROGRAM_MARKERS) ??
  byPrompt(request) ??
  byHeaders(headers, LIBRARY_MARKERS) ??
  UNKNOWN_CLIENT;

const byHeaders = (headers: Headers, markers: readonly HeaderMarker[]): DetectedClient | null => {
  const found = markers.filter((marker) => hasMarker(headers, marker));
  const client = found[0]?.client;
  if (client === undefined) return null;
  return {
    name: client,
    source: 'header',
    reasons: found.filter((marker) => marker.client === client).map(({ name }) => name),
  };
};

const hasMarker = (headers: Headers, marker: HeaderMarker): boolean =>
  Object.entries(marker.headers).every(([name, pattern]) => pattern.test(headers.get(name) ?? ''));

/** A client that declares tools does not need blocks, so a block in its conversation proves nothing. */
const byPrompt = (request: TurnRequest): DetectedClient | null => {
  const marker = request.tools.length > 0 ? null : promptMarker(request);
  return marker === null ? null : { name: 'obsidian-copilot', source: 'body', reasons: [marker] };
};
