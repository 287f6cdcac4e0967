import type { IncomingHttpHeaders } from 'node:http';

import { isJsonObject } from '../../src/kit/json/json.ts';
import type { Json, JsonObject } from '../../src/kit/json/json.ts';
import type { Settings } from './settings.ts';

/** A: seen live by several people, or codex depends on it. B: one good observation. C: plausible. */
export type Confidence = 'A' | 'B' | 'C';

export type RequestFormat = 'responses' | 'codex';

/** What arrived: a POST, the request that opens a WebSocket, or a message on one. */
export type Carrier = 'post' | 'upgrade' | 'frame';

/** One model request, or an upgrade, as the rules see it. */
export interface Seen {
  readonly carrier: Carrier;
  /** Of an upgrade: empty. Of a frame: with the history that it continues. */
  readonly body: JsonObject;
  /** Of a frame: what its `client_metadata` says instead of headers, and the upgrade's. */
  readonly headers: IncomingHttpHeaders;
  readonly requestFormat: RequestFormat;
  readonly model: string;
  readonly settings: Settings;
  /** What the backend knows about its own earlier answers. */
  readonly memory: Memory;
  /** Only of a frame. */
  readonly frame?: FrameFacts;
}

export interface FrameFacts {
  readonly type: Json | undefined;
  /** Whether the previous response of the socket is not over. */
  readonly isEarly: boolean;
  /** Whether `previous_response_id` is the last response of this socket, or absent. */
  readonly continuesKnown: boolean;
  /** When it was sent, as it says. */
  readonly startMs: Json | undefined;
}

export interface Memory {
  /** The account that encrypted reasoning was issued to: no other can use it. */
  readonly issued: ReadonlyMap<string, string>;
  /** The turn that a value of `x-codex-turn-state` was issued to. */
  readonly turnStates: ReadonlyMap<string, string>;
}

export interface RefusedAnswer {
  readonly status: number;
  readonly body: Json;
}

/** `counted`: the service accepts it, but it is a violation. */
export type Answer = RefusedAnswer | 'counted';

export interface Rule {
  readonly id: string;
  readonly confidence: Confidence;
  readonly requestFormat: RequestFormat | 'both';
  /** Default: POSTs and frames. */
  readonly on?: readonly Carrier[];
  /**
   * Can only be found by trying, such as whose encrypted content it is. It is rejected and recorded, but does
   * not count as a violation.
   */
  readonly onlyFoundByTrying?: true;
  readonly breaks: (seen: Seen) => Answer | null;
}

/** The usual form of this service's errors. */
export const detail = (text: string, status = 400): RefusedAnswer => ({ status, body: { detail: text } });

/** The form of errors from the API that the service calls. */
export const apiError = (
  message: string,
  more: { readonly param?: string; readonly code?: string; readonly status?: number } = {},
): RefusedAnswer => ({
  status: more.status ?? 400,
  body: {
    error: {
      message,
      type: 'invalid_request_error',
      param: more.param ?? null,
      code: more.code ?? null,
    },
  },
});

export interface PlacedItem {
  readonly item: JsonObject;
  readonly at: string;
}

export const inputItems = (body: JsonObject): readonly PlacedItem[] => objects(body['input'], 'input');

/** Parts of messages and of tool outputs. */
export const inputParts = (body: JsonObject): readonly PlacedItem[] =>
  inputItems(body).flatMap(({ item, at }) => [
    ...objects(item['content'], `${at}.content`),
    ...objects(item['output'], `${at}.output`),
  ]);

export const typeOf = (item: JsonObject): string => textOf(item['type'] ?? 'message');

export const textOf = (value: Json | undefined): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null);

const objects = (value: Json | undefined, at: string): readonly PlacedItem[] =>
  (Array.isArray(value) ? value : []).flatMap((item, index) =>
    isJsonObject(item) ? [{ item, at: `${at}[${String(index)}]` }] : [],
  );

/** The first result that is not null. */
export const firstAnswer = <T>(list: readonly T[], look: (one: T) => Answer | null): Answer | null => {
  for (const one of list) {
    const answer = look(one);
    if (answer !== null) return answer;
  }
  return null;
};

export const isCodexFormatModel = (settings: Settings, model: string): boolean =>
  settings.models.some((entry) => entry['slug'] === model && entry['use_responses_lite'] === true);
