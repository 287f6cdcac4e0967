import type { ModelNames } from '../canonical/models/model-names.ts';
import type { Reply } from '../canonical/events/accumulate.ts';
import type { Failure } from '../canonical/failure/failure.ts';
import type { Path } from '../canonical/request/path.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';
import type { TurnRequest } from '../canonical/request/turn-request.ts';
import type { Ambient } from '../kit/ambient.ts';
import type { JsonObject } from '../kit/json/json.ts';
import type { OneOrMore } from '../kit/collections/one-or-more.ts';
import type { ClientSeen } from '../openai/clients/recognise.ts';
import type { SideRequest } from '../openai/clients/side-request.ts';
import type { Dialect } from '../openai/dialects/dialect.ts';
import type { FormEntry } from '../openai/images/form.ts';
import type { Frame } from '../openai/shared/sse.ts';
import type { ItemMemory } from './recent-items.ts';

/** Who asks, and what holds for this request. Handed down as an argument, never looked up. */
export interface ParseContext {
  readonly headers: Headers;
  readonly ambient: Ambient;
  readonly models: ModelNames;
  /** Items of the caller's recent answers. */
  readonly items: ItemMemory;
}

/** A parsed request: what to run, and how its answer is said in the caller's API. */
export interface ParsedRequest {
  readonly request: TurnRequest;
  /** By which its client may speak to it while it is streamed; absent: its API has no such thing. */
  readonly id?: string;
  /** Asked beside it, and different from it in their items only. */
  readonly further?: readonly TurnRequest[];
  /** How many answers to each request are asked for: each is a turn of its own. */
  readonly choices: number;
  /** The model as the caller named it. */
  readonly model: string;
  readonly stream: boolean;
  /** Who asks, as far as that can be seen. */
  readonly client: ClientSeen;
  /** How calls are told in the answer; absent: its API has one way. */
  readonly dialect?: Dialect;
  /** Fields that this API does not read, by their place in the body. */
  readonly ignored: readonly string[];
  /** The caller's name for a part of the request. */
  nameOf(path: Path): string;
  /** The place of the output format in the body, for messages about it. */
  readonly formatPlace: string;
  /** Set where all that is wanted is a name for a conversation. */
  readonly sideRequest?: SideRequest | null;
  /** Which items the answer shows, and in which order. */
  arrange(events: AsyncIterable<TurnEvent>): AsyncIterable<TurnEvent>;
  render(turns: OneOrMore<AsyncIterable<TurnEvent>>): AsyncIterable<Frame>;
  project(replies: OneOrMore<Reply>): unknown;
  /** For an API that is nothing but a tool of the backend: what is said where the backend has none such. */
  readonly withoutTool?: (why: string) => Failure;
}

/** An API that runs turns is a value: everything else about serving it is shared (`serve-turn`). */
export interface Api {
  readonly path: string;
  /** The body that a form stands for; absent: the API takes JSON only. */
  readonly bodyOf?: (form: readonly FormEntry[]) => JsonObject;
  /** Puts words into a body that are said in it in another way. `onBytes` hears how long they are, and ends it by throwing. */
  readonly spellOut?: (
    body: unknown,
    how: { readonly onBytes: (bytes: number) => void; readonly caller: string },
  ) => Promise<unknown>;
  read(body: unknown, context: ParseContext): ParsedRequest;
}

/** All that is asked, in the order of the answers. */
export const requestsOf = ({ request, further = [] }: ParsedRequest): OneOrMore<TurnRequest> => [
  request,
  ...further,
];
