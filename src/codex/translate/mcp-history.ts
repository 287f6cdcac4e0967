import { itemFacts } from '../../canonical/request/item-facts.ts';
import {
  rawOf,
  type Item,
  type RawItem,
  type ToolCall,
  type ToolOutput,
} from '../../canonical/request/item.ts';
import { mcpNamespace, mcpWireName } from '../../canonical/mcp/mcp-tools.ts';
import type { Rejection } from '../../canonical/failure/rejection.ts';
import { isJsonObject, textIn, type Json } from '../../kit/json/json.ts';
import { quoted } from '../../kit/text/display.ts';
import { placeOf, type History } from './fit-history.ts';
import { fromOutputText, toOutputText } from './mcp-output.ts';

/** An approved call that has not run yet. */
export interface ApprovedCall {
  readonly requestId: string;
  readonly label: string;
  readonly name: string;
  readonly arguments: string;
  /** Its call id in the history; its output is not known yet. */
  readonly callId: string;
  /** The position of the response that approved it. */
  readonly place: number;
}

/** How the model has seen a call of a server, and its output. */
export type WriteMcpCall = (
  call: RawItem,
  callId: string,
  output: string,
) => readonly [call: ToolCall, output: ToolOutput];

/** Null: the item is not of our servers. An approval response is asked about by its request; alone, it has no label. */
export type FindMcpWriter = (label: string, item: RawItem) => WriteMcpCall | null;

/** In the namespace of its server. */
export const inMcpNamespace: WriteMcpCall = (raw, callId, output) => [
  {
    kind: 'tool-call',
    tool: 'function',
    callId,
    name: mcpWireName(textIn(raw, 'name')),
    namespace: mcpNamespace(textIn(raw, 'server_label')),
    input: textIn(raw, 'arguments'),
  },
  { kind: 'tool-output', tool: 'function', callId, output: fromOutputText(output) },
];

export interface McpHistory extends History {
  readonly approved: readonly ApprovedCall[];
  /** Servers whose tool list the client has. */
  readonly listed: ReadonlySet<string>;
  readonly refused: readonly Rejection[];
}

/**
 * Translates a client's MCP items of our servers into what the model has seen: calls, and their outputs. Tool lists were
 * never shown to it.
 */
export const mcpHistory = (history: History, writerOf: FindMcpWriter): McpHistory => {
  if (!itemFacts(history.items).hasRaw) return withoutMcp(history);
  const requests = new Map(
    history.items.flatMap((item) => {
      const raw = 'raw' in item && item.raw.type === 'mcp_approval_request' ? rawOf(item) : null;
      return raw === null ? [] : [[textIn(raw, 'id'), raw] as const];
    }),
  );
  const all = history.items.map((item) => ourMcp(item, requests, writerOf));
  return all.every((one) => one === null) ? withoutMcp(history) : new Reader(history, all).read();
};

const withoutMcp = ({ items, places }: History): McpHistory => ({
  items,
  places,
  approved: [],
  listed: new Set(),
  refused: [],
});

const TYPES = /^mcp_(?:call|list_tools|approval_request|approval_response)$/;

/** An item of a server of ours. */
interface OurMcpItem {
  readonly raw: RawItem;
  readonly write: WriteMcpCall;
}

/** The item, if it belongs to a server of ours. An approval response names only its request. */
const ourMcp = (
  item: Item,
  requests: ReadonlyMap<string, RawItem>,
  writerOf: FindMcpWriter,
): OurMcpItem | null => {
  if (!('raw' in item) || !TYPES.test(item.raw.type)) return null;
  const raw = rawOf(item);
  const isAnswer = raw.type === 'mcp_approval_response';
  const about = (isAnswer ? requests.get(textIn(raw, 'approval_request_id')) : null) ?? raw;
  const write = writerOf(textIn(about, 'server_label'), about);
  return write === null ? null : { raw, write };
};

type AddCall = (call: RawItem, callId: string, output: string) => void;

class Reader {
  readonly #history: History;
  readonly #all: readonly (OurMcpItem | null)[];
  readonly #items: Item[] = [];
  readonly #places: (number | null)[] = [];
  readonly #approved: ApprovedCall[] = [];
  readonly #listed = new Set<string>();
  readonly #refused: Rejection[] = [];
  readonly #requests = new Map<string, RawItem>();
  /** The deciding response for each request: the first that declines, else the last. */
  readonly #responses = new Map<string, RawItem>();
  /** Request ids used for different calls. */
  readonly #ambiguous = new Set<string>();
  readonly #run = new Set<string>();
  readonly #callIds: Set<string>;

  constructor(history: History, all: readonly (OurMcpItem | null)[]) {
    this.#history = history;
    this.#all = all;
    this.#callIds = new Set(
      history.items.flatMap((item) => (item.kind === 'tool-call' ? [item.callId] : [])),
    );
    for (const { raw } of all.filter((one) => one !== null)) {
      if (raw.type === 'mcp_approval_request') this.#request(raw);
      if (raw.type === 'mcp_approval_response') this.#answer(raw);
      if (raw.type === 'mcp_call') this.#run.add(textIn(raw, 'approval_request_id'));
    }
  }

  #request(raw: RawItem): void {
    const id = textIn(raw, 'id');
    const known = this.#requests.get(id);
    if (known !== undefined && !isSameCall(known, raw)) this.#ambiguous.add(id);
    this.#requests.set(id, raw);
  }

  #answer(raw: RawItem): void {
    const id = textIn(raw, 'approval_request_id');
    const known = this.#responses.get(id);
    // A declined call cannot be overruled by another response.
    if (known === undefined || known['approve'] === true) this.#responses.set(id, raw);
  }

  read(): McpHistory {
    this.#history.items.forEach((item, index) => {
      const ours = this.#all[index] ?? null;
      const place = placeOf(this.#history, index);
      if (ours === null) this.#add(place, item);
      else this.#mcp(ours, place ?? index);
    });
    return {
      items: this.#items,
      places: this.#places,
      approved: this.#approved,
      listed: this.#listed,
      refused: this.#refused,
    };
  }

  #mcp({ raw, write }: OurMcpItem, place: number): void {
    const id = textIn(raw, 'id');
    const add = (call: RawItem, callId: string, output: string): void => {
      for (const item of write(call, callId, output)) this.#add(place, item);
    };
    switch (raw.type) {
      case 'mcp_list_tools':
        this.#listed.add(textIn(raw, 'server_label'));
        return;
      case 'mcp_call': {
        add(raw, this.#callId(id), mcpOutputOf(raw));
        return;
      }
      case 'mcp_approval_request': {
        // It is handled at the position of its response.
        if (this.#responses.has(id) || this.#run.has(id)) return;
        add(raw, this.#callId(id), 'This call was not approved.');
        return;
      }
      default:
        this.#response(raw, place, add);
    }
  }

  #response(raw: RawItem, place: number, add: AddCall): void {
    const requestId = textIn(raw, 'approval_request_id');
    const request = this.#requests.get(requestId);
    if (request === undefined) {
      const why = `there is no approval request '${quoted(requestId)}' in the input, or in the conversation that it continues.`;
      this.#refused.push({ path: { item: place }, kind: 'invalid_value', why });
      return;
    }
    if (this.#ambiguous.has(requestId)) {
      const why = `the approval request '${quoted(requestId)}' is in the input more than once, with different calls. Send only the one that the user saw.`;
      this.#refused.push({ path: { item: place }, kind: 'invalid_value', why });
      return;
    }
    // It has run since and appears as a call.
    if (this.#run.has(requestId) || this.#responses.get(requestId) !== raw) return;
    const callId = this.#callId(requestId);
    if (raw['approve'] !== true) {
      const reason = textIn(raw, 'reason');
      add(request, callId, `This call was declined${reason === '' ? '.' : `: ${reason}`}`);
      return;
    }
    add(request, callId, '');
    this.#approved.push({
      requestId,
      label: textIn(request, 'server_label'),
      name: textIn(request, 'name'),
      arguments: textIn(request, 'arguments'),
      callId,
      place,
    });
  }

  #add(place: number | null, item: Item): void {
    this.#items.push(item);
    this.#places.push(place);
  }

  /** The model's own call id, which our ids are derived from, so that the model sees the same again. */
  #callId(id: string): string {
    const own = /^mcpr?_(.+)$/s.exec(id)?.[1] ?? 'mcp';
    const callId = this.#callIds.has(own) ? `${own}_${this.#callIds.size}` : own;
    this.#callIds.add(callId);
    return callId;
  }
}

const isSameCall = (one: RawItem, other: RawItem): boolean =>
  ['server_label', 'name', 'arguments'].every((field) => textIn(one, field) === textIn(other, field));

/** What the model was shown as the output of a call. */
export const mcpOutputOf = ({ output = null, error = null }: RawItem): string => {
  if (typeof output === 'string') return output;
  if (typeof error === 'string') return error;
  if (!isJsonObject(error)) return 'The call did not finish.';
  const { content, message } = error;
  if (Array.isArray(content)) return toOutputText({ content: content as readonly Json[] });
  return typeof message === 'string' ? message : JSON.stringify(error);
};
