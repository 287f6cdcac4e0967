import type { IncomingHttpHeaders } from 'node:http';

import type { JsonObject } from '../../src/kit/json/json.ts';
import type { Transport } from './pending-faults.ts';
import type { Confidence, RequestFormat } from './rule.ts';

/** Any request received, in order of arrival, except upgrades. */
export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Null if missing or not JSON. */
  readonly body: JsonObject | null;
}

/** A POST, or a frame as an equal POST. */
export interface ModelRequest extends RecordedRequest {
  readonly body: JsonObject;
  readonly requestFormat: RequestFormat;
  /** Ids of all broken rules, including those that can only be found by trying. */
  readonly broken: readonly string[];
  readonly transport: Transport;
  /** The socket of a frame. */
  readonly dial: Dial | null;
  /** The frame as it came; `body` has the history that it continues. */
  readonly frame: JsonObject | null;
}

/** A request for a WebSocket, and what became of it. */
export interface Dial {
  readonly headers: IncomingHttpHeaders;
  readonly broken: readonly string[];
  /** 101, or the status of the refusal. Null: no answer. */
  readonly status: number | null;
  /** Number of messages received. */
  readonly frames: number;
  readonly pongs: number;
  /** Null: open, or refused. */
  readonly closed: { readonly code: number; readonly reason: string } | null;
}

export interface Violation {
  readonly rule: string;
  readonly confidence: Confidence;
  readonly request: Pick<ModelRequest, 'headers' | 'body' | 'requestFormat' | 'transport'>;
}
