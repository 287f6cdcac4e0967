import type { JsonObject } from '../src/kit/json/json.ts';

/** Every delta is this text, so that deltas that were joined on the way can still be counted. */
export const DELTA = 'word ';

/** One request to a side. */
export interface Ask {
  readonly model: string;
  readonly deltas: number;
  readonly instructions?: string;
  readonly tools?: readonly Tool[];
  /** What follows the prompt: items of the Responses API, which the app-server takes as they are. */
  readonly history?: readonly JsonObject[];
  /** The tools of this MCP server are offered, and one of them is called first if the prompt asks for it. */
  readonly mcp?: { readonly url: string; readonly isCalled: boolean };
}

/** What both sides name the MCP server. */
export const MCP_LABEL = 'bench';
/** With these words in the prompt the model calls a tool of that server before it answers. */
export const CALL_FIRST = 'Add two numbers first.';

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
}

/** The model answers with as many deltas as the prompt names. */
export const promptOf = (ask: Ask): string =>
  `Please answer with ${ask.deltas} deltas.${ask.mcp?.isCalled === true ? ` ${CALL_FIRST}` : ''}`;

/** When things arrived, in milliseconds after the request was sent. */
export interface Timing {
  readonly firstDeltaMs: number;
  readonly endMs: number;
  /** Deltas as they arrived; fewer than were sent where they were joined. */
  readonly deltas: number;
  readonly textChars: number;
}

/** One of the things that are compared. */
export interface Side {
  readonly name: string;
  run(ask: Ask): Promise<Timing>;
  /** What the app-server holds, in MB. */
  memory(): Promise<number>;
  close(): Promise<void>;
}

/** Between the bench and the process of the model. */
export type ModelQuestion =
  | { readonly kind: 'prepare'; readonly deltas: number }
  | { readonly kind: 'ask-last-request' };
export type ModelMessage =
  | { readonly kind: 'listening'; readonly baseUrl: string; readonly chatgptBaseUrl: string }
  | { readonly kind: 'prepared' }
  | { readonly kind: 'last-request'; readonly body: JsonObject | null };
