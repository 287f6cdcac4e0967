import type { Reply } from '../canonical/events/accumulate.ts';
import type { StopEarly, TurnEvent } from '../canonical/events/turn-event.ts';
import type { Failure, Restate } from '../canonical/failure/failure.ts';
import type { ModelNames } from '../canonical/models/model-names.ts';
import type { Item } from '../canonical/request/item.ts';
import type { Path } from '../canonical/request/path.ts';
import type { TurnRequest } from '../canonical/request/turn-request.ts';
import type { Ambient, IdSource } from '../kit/ambient.ts';
import type { OneOrMore } from '../kit/collections/lists.ts';
import type { JsonObject } from '../kit/json/json.ts';

/**
 * The port that every API implements. An API is a value without HTTP: it reads a body in two phases (`parse`, then
 * `toTurn` with what was loaded in between) and writes answers and errors. Everything else about serving it is shared.
 * `Meta` is data that can be stored: with it, another process can render or project the same run again.
 */
export interface Api<Parsed extends WithReferences = WithReferences, Meta = unknown> {
  readonly path: string;
  /** Converts a form to the JSON body that means the same; absent: the API takes JSON only. */
  readonly bodyOf?: (form: readonly FormEntry[]) => JsonObject;
  /** Replaces what a body only names by its text, such as tokens. */
  readonly spellOut?: (body: unknown, how: SpellingOut) => Promise<unknown>;
  /** Checks the body and finds what it refers to. Throws a `GatewayError` if it is invalid. */
  parse(body: unknown, context: ParseContext): Parsed;
  /** Translates the parsed body. `loaded` has those of its references that were found. */
  toTurn(parsed: Parsed, loaded: LoadedItems, context: ParseContext): ParsedRequest<Meta>;
  /** The frames of a stream. A pure function of its arguments. */
  render(
    meta: Meta,
    turns: OneOrMore<AsyncIterable<TurnEvent>>,
    inputTokens?: InputTokens,
  ): AsyncIterable<Frame>;
  /** The body of a JSON answer. */
  project(meta: Meta, replies: OneOrMore<Reply>, ids: IdSource): unknown;
  /** How the input of a request is counted without a model; absent: it is not. */
  readonly count?: InputCount<Parsed>;
  /** Sent while a stream is silent; absent: a comment, which all clients ignore. */
  readonly keepalive?: Frame;
  readonly errors: ErrorForm;
}

export interface SpellingOut {
  /** Called with the length of each text; it may throw. */
  readonly onBytes: (bytes: number) => void;
  readonly caller: string;
  /** The changes in a workspace, as a diff. Rejects with a `GatewayError`. */
  readonly readChanges: (changes: WorkspaceChanges) => Promise<string>;
}

/** Changes in the git repository of a workspace, by codex's names for them. */
export interface WorkspaceChanges {
  /** The name of the workspace, as the client gives it. */
  readonly workspace: string;
  readonly target:
    | { readonly type: 'uncommittedChanges' }
    | { readonly type: 'baseBranch'; readonly branch: string }
    | { readonly type: 'commit'; readonly sha: string };
}

/** Counts the input of a request. The body is that of the API. */
export interface InputCount<Parsed extends WithReferences = WithReferences> {
  readonly path: string;
  /** As `parse` of the API, but fields that only an answer needs may be missing. */
  parse(body: unknown, context: ParseContext): Parsed;
  /** The body of the answer. */
  project(tokens: number): unknown;
}

/** This server's count of the input, for the beginning of a stream. It takes a moment at most, and never rejects. */
export type InputTokens = () => Promise<number>;

/** How a family of APIs answers a failed request. */
export type ErrorForm = (failed: Failure, requestId: string | null) => ErrorAnswer;

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** What holds for one request while it is parsed. */
export interface ParseContext {
  readonly headers: Headers;
  readonly ambient: Ambient;
  readonly models: ModelNames;
  /** False: no model reads the input, so it may be empty. Default: true. */
  readonly generates?: boolean;
  /** The response that the request began before, if it runs again. */
  readonly again?: Again;
}

export interface Again {
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
}

/** A body names what is stored by id. */
export interface WithReferences {
  /** Items of earlier answers. */
  readonly references?: readonly string[];
  /** The conversation that the request continues; null or absent: a new one. */
  readonly continues?: Continues | null;
}

/** A conversation up to one of its responses or messages, or a conversation with a name. */
export interface Continues {
  readonly kind: 'response' | 'message' | 'conversation';
  readonly id: string;
}

/** What was found of the references of a body. */
export interface LoadedItems {
  readonly items: ReadonlyMap<string, Item>;
  /** The items of the conversation so far; empty: a new one. */
  readonly chain: readonly Item[];
}

export const NOTHING_LOADED: LoadedItems = { items: new Map(), chain: [] };

/** What every API reads in the same way. */
export interface RequestBasics {
  readonly request: TurnRequest;
  /** How many answers to each request: each is a turn of its own. */
  readonly choices: number;
  /** The model as the client named it. */
  readonly model: string;
  readonly stream: boolean;
  /** Fields that this API does not read, by their place in the body. */
  readonly ignored: readonly string[];
  /** The client's name for a part of the request. */
  nameOf(path: Path): string;
}

/** A parsed request: the turns to run, and how the API shows their events. */
export interface ParsedRequest<Meta = unknown> extends RequestBasics {
  /** Requests that differ from the first in their items only. */
  readonly further?: readonly TurnRequest[];
  readonly meta: Meta;
  /** The same, once it is known what is sent; absent: nothing of it is shown. */
  readonly metaFor?: (sent: SentSettings) => Meta;
  /** The conversation that the body names; the headers of the request take precedence. */
  readonly session?: string | null;
  /** The id by which the client can steer the stream; absent: the API has no steering. */
  readonly id?: string;
  /** The client program, as far as it was recognised. */
  readonly client: {
    readonly name: string;
    readonly source: string;
    readonly reasons: readonly string[];
  };
  /** How tool calls are written in the answer; absent: the API has one way. */
  readonly dialect?: Dialect;
  /** The place of the output format in the body, for error messages. */
  readonly formatPlace: string;
  /** Set if the request is only for the title of a conversation. */
  readonly sideRequest?: SideRequest | null;
  /** What is kept of the answer for later requests; absent: the API keeps nothing. */
  readonly keeps?: Keeps;
  /** Chooses and orders the items that the answer shows. */
  arrange(events: AsyncIterable<TurnEvent>): AsyncIterable<TurnEvent>;
  /** Whether a stream begins with the number of input tokens, which the backend reports only at the end. */
  readonly beginsWithUsage?: boolean;
  /** Rewrites a failure of the turn; absent: it stays as it is. */
  readonly restate?: Restate;
  /** The failure if the backend lacks the tool that this API consists of; absent: the API is more than one tool. */
  readonly withoutTool?: (why: string) => Failure;
}

/** Settings of a turn that may differ from what the client asked for. */
export interface SentSettings {
  /** Null: none, so the model's default is in force. */
  readonly effort: string | null;
}

/** What is kept of an answer besides its items. */
export type Keeps = KeptResponse | KeptMessage | KeptChat;

export interface KeptResponse {
  readonly kind: 'response';
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  /** False: a later request cannot name the response, but its conversation, if it has one, goes on. */
  readonly isStored: boolean;
  /** The items that the request adds to its conversation, as the client sent them. */
  readonly input: readonly Item[];
  /** The optional fields that the request asked for: what later requests do not ask for is not shown to them. */
  readonly include: readonly string[];
  /** The response object of a background response before it runs; null: the client waits for the answer. */
  readonly queued: object | null;
}

/** A message of a thread. Only its conversation is kept: later requests continue it, and none can retrieve the message. */
export interface KeptMessage {
  readonly kind: 'message';
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  /** The items that the request adds to its thread. */
  readonly input: readonly Item[];
}

export interface KeptChat {
  readonly kind: 'chat';
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly model: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** The messages as the client sent them. */
  readonly messages: readonly JsonObject[];
}

export interface Dialect {
  readonly mode: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Null: answers are never ended early. */
  readonly stopEarly: StopEarly | null;
}

export interface SideRequest {
  readonly kind: string;
  /** The title in the form that the client wants; null: the text is not usable as a title. */
  readonly clean: (text: string) => string | null;
}

/** One part of a form. */
export interface FormEntry {
  readonly name: string;
  /** Its text; of a file, its content as a data URL. */
  readonly value: string;
  readonly isFile: boolean;
}

/** For people and tools that read the bytes. */
export interface FrameNote {
  /** A comment in front of the frame, which clients skip. */
  readonly note?: string;
}

/** One server-sent event before it is bytes. */
export interface Frame extends FrameNote {
  /** Null: a frame without an `event:` line, as Chat sends them. */
  readonly event: string | null;
  readonly data: unknown;
  /** A frame that was encoded before: its bytes, in place of the data. */
  readonly text?: string;
}

/** A response that runs without a client. */
export type BackgroundResponse = KeptResponse & { readonly queued: object };

/** Null: the client waits for the answer. */
export const backgroundOf = ({ keeps }: ParsedRequest): BackgroundResponse | null => {
  if (keeps?.kind !== 'response' || keeps.queued === null) return null;
  return { ...keeps, queued: keeps.queued };
};

/** All requests, in the order of their answers. */
export const requestsOf = ({ request, further = [] }: ParsedRequest): OneOrMore<TurnRequest> => [
  request,
  ...further,
];
