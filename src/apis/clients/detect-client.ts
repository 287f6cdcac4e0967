import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { promptMarker } from './prompt-markers.ts';
import {
  LIBRARY_MARKERS,
  MARKER_HEADERS,
  PROGRAM_MARKERS,
  type ClientName,
  type HeaderMarker,
} from './markers.ts';

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
export const detectClient = (headers: Headers, request: TurnRequest): DetectedClient => {
  const values = new Map(READ_HEADERS.map((name) => [name, headers.get(name) ?? '']));
  return (
    byHeaders(values, PROGRAM_MARKERS) ??
    byPrompt(request) ??
    byHeaders(values, LIBRARY_MARKERS) ??
    UNKNOWN_CLIENT
  );
};

/** Several markers read the same header. */
const READ_HEADERS: readonly string[] = [...new Set(MARKER_HEADERS)];

type HeaderValues = ReadonlyMap<string, string>;

const byHeaders = (headers: HeaderValues, markers: readonly HeaderMarker[]): DetectedClient | null => {
  const found = markers.filter((marker) => hasMarker(headers, marker));
  const client = found[0]?.client;
  if (client === undefined) return null;
  return {
    name: client,
    source: 'header',
    reasons: found.filter((marker) => marker.client === client).map(({ name }) => name),
  };
};

const hasMarker = (headers: HeaderValues, marker: HeaderMarker): boolean => {
  for (const name in marker.headers) {
    if (marker.headers[name]?.test(headers.get(name) ?? '') !== true) return false;
  }
  return true;
};

/** A client that declares tools does not need blocks, so a block in its conversation proves nothing. */
const byPrompt = (request: TurnRequest): DetectedClient | null => {
  const marker = request.tools.length > 0 ? null : promptMarker(request);
  return marker === null ? null : { name: 'obsidian-copilot', source: 'body', reasons: [marker] };
};
