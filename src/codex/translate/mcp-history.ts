import { itemFacts } from '../../canonical/request/item-facts.ts';
import { rawOf, type Item, type RawItem } from '../../canonical/request/item.ts';
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
}

export interface McpHistory extends History {
  readonly approved: readonly ApprovedCall[];
  /** Servers whose tool list the client has. */
  readonly listed: ReadonlySet<string>;
  readonly refused: readonly Rejection[];
}

/**
 * Translates a client's MCP items of our servers into what the model has seen: calls in the server's
 * namespace, and their outputs. Tool lists were never shown to it.
 */
export const mcpHistory = (history: History, isOurs: (label: string) => boolean): McpHistory => {
  if (!itemFacts(history.items).hasRaw) return withoutMcp(history);
  const labels = new Map(
    history.items.flatMap((item) => {
      const raw = 'raw' in item && item.raw.type === 'mcp_approval_request' ? rawOf(item) : null;
      return raw === null ? [] : [[textIn(raw, 'id'), textIn(raw, 'server_label')] as const];
    }),
  );
  const raws = history.items.map((item) => rawMcp(item, labels, isOurs));
  return raws.every((raw) => raw === null) ? withoutMcp(history) : new Reader(history, raws).read();
};

const withoutMcp = ({ items, places }: History): McpHistory => ({
  items,
  places,
  approved: [],
  listed: new Set(),
  refused: [],
});

const TYPES = /^mcp_(?:call|list_tools|approval_request|approval_response)$/;

/** The item, if it belongs to a server of ours. An approval response names only its request. */
const rawMcp = (
  item: Item,
  labels: ReadonlyMap<string, string>,
  isOurs: (label: string) => boolean,
): RawItem | null => {
  if (!('raw' in item) || !TYPES.test(item.raw.type)) return null;
  const raw = rawOf(item);
  const isAnswer = raw.type === 'mcp_approval_response';
  const label = isAnswer ? labels.get(textIn(raw, 'approval_request_id')) : textIn(raw, 'server_label');
  return isOurs(label ?? '') ? raw : null;
};

class Reader {
  readonly #history: History;
  readonly #raws: readonly (RawItem | null)[];
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

  constructor(history: History, raws: readonly (RawItem | null)[]) {
    this.#history = history;
    this.#raws = raws;
    this.#callIds = new Set(
      history.items.flatMap((item) => (item.kind === 'tool-call' ? [item.callId] : [])),
    );
    for (const raw of this.#raws) {
      if (raw?.type === 'mcp_approval_request') this.#request(raw);
      if (raw?.type === 'mcp_approval_response') this.#answer(raw);
      if (raw?.type === 'mcp_call') this.#run.add(textIn(raw, 'approval_request_id'));
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
      const raw = this.#raws[index] ?? null;
      const place = placeOf(this.#history, index);
      if (raw === null) this.#add(place, item);
      else this.#mcp(raw, place ?? index);
    });
    return {
      items: this.#items,
      places: this.#places,
      approved: this.#approved,
      listed: this.#listed,
      refused: this.#refused,
    };
  }

  #mcp(raw: RawItem, place: number): void {
    const id = textIn(raw, 'id');
    switch (raw.type) {
      case 'mcp_list_tools':
        this.#listed.add(textIn(raw, 'server_label'));
        return;
      case 'mcp_call': {
        this.#call(raw, this.#callId(id), mcpOutputOf(raw), place);
        return;
      }
      case 'mcp_approval_request': {
        // It is handled at the position of its response.
        if (this.#responses.has(id) || this.#run.has(id)) return;
        this.#call(raw, this.#callId(id), 'This call was not approved.', place);
        return;
      }
      default:
        this.#response(raw, place);
    }
  }

  #response(raw: RawItem, place: number): void {
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
      this.#call(request, callId, `This call was declined${reason === '' ? '.' : `: ${reason}`}`, place);
      return;
    }
    this.#call(request, callId, '', place);
    this.#approved.push({
      requestId,
      label: textIn(request, 'server_label'),
      name: textIn(request, 'name'),
      arguments: textIn(request, 'arguments'),
      callId,
    });
  }

  #call(raw: RawItem, callId: string, output: string, place: number): void {
    this.#add(place, {
      kind: 'tool-call',
      tool: 'function',
      callId,
      name: mcpWireName(textIn(raw, 'name')),
      namespace: mcpNamespace(textIn(raw, 'server_label')),
      input: textIn(raw, 'arguments'),
    });
    this.#add(place, { kind: 'tool-output', tool: 'function', callId, output: fromOutputText(output) });
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
