import type { JsonObject } from '../src/kit/json/json.ts';

/** The text of every delta, so that joined deltas can be counted. */
export const DELTA = 'word ';

/** One request to a side. */
export interface Ask {
  readonly model: string;
  readonly deltas: number;
  readonly instructions?: string;
  readonly tools?: readonly Tool[];
  /** Items after the prompt, in the form of the Responses API. */
  readonly history?: readonly JsonObject[];
  /** The model pauses before each delta, so that each one comes alone. */
  readonly isSlow?: boolean;
  /** The model calls the first of the tools. */
  readonly callsTool?: boolean;
  /** Offers the tools of this MCP server; the model may call one first. */
  readonly mcp?: { readonly url: string; readonly isCalled: boolean };
}

/** The MCP server's name on both sides. */
export const MCP_LABEL = 'bench';
/** A prompt with this text makes the model call a tool of that server first. */
export const CALL_FIRST = 'Add two numbers first.';
/** A prompt with this text makes the model call `TOOL_NAME` and end its answer. */
export const CALL_TOOL = 'Call the tool.';
export const TOOL_NAME = 'get_weather';
/** A message that begins with this text makes the model call codex's own tool with the command after it. */
export const RUN_COMMAND = 'Run this command: ';
/** A prompt with this word makes the model pause before each delta. */
export const SLOWLY = 'slowly';

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
}

/** The prompt contains the number of deltas to answer with. */
export const promptOf = (ask: Ask): string =>
  [
    `Please answer with ${ask.deltas} deltas.`,
    ...(ask.mcp?.isCalled === true ? [CALL_FIRST] : []),
    ...(ask.callsTool === true ? [CALL_TOOL] : []),
    ...(ask.isSlow === true ? [`Answer ${SLOWLY}.`] : []),
  ].join(' ');

/** Arrival times in milliseconds after the request was sent. */
export interface Timing {
  readonly firstDeltaMs: number;
  readonly endMs: number;
  /** Deltas received; fewer than sent if they were joined. */
  readonly deltas: number;
  readonly textChars: number;
}

/** One of the compared programs. */
export interface Side {
  readonly name: string;
  run(ask: Ask): Promise<Timing>;
  /** Memory of the app-server in MB. */
  memory(): Promise<number>;
  close(): Promise<void>;
}

/** Messages to the model's process. */
export type ModelQuestion =
  | { readonly kind: 'prepare'; readonly deltas: number }
  | { readonly kind: 'ask-last-request' };
export type ModelMessage =
  | { readonly kind: 'listening'; readonly baseUrl: string; readonly chatgptBaseUrl: string }
  | { readonly kind: 'prepared' }
  | { readonly kind: 'last-request'; readonly body: JsonObject | null };
