import {
  messageParts,
  type ClientOnlyItem,
  type Item,
  type ItemStatus,
  type Phase,
  type RawItem,
  type ItemContent,
  type Slot,
} from '../../canonical/request/item.ts';
import type { ItemDelta } from '../../canonical/events/turn-event.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { isJsonObject, listIn, objectsIn, textIn, type Json, type JsonObject } from '../../kit/json/json.ts';

/** Items that codex writes into a conversation for itself, and its answers to calls that are not the client's. */
const CODEX_OWN: ReadonlySet<string> = new Set([
  'additional_tools',
  'agent_message',
  'compaction_trigger',
  'configuration_update',
  'context_compaction',
  'custom_tool_call_output',
  'function_call_output',
  'other',
]);

/** An item that the model produced. */
export type OutputItem = Exclude<Item, ClientOnlyItem>;

/** An item of an answer after reading. */
export type ReadItem = OutputItem | 'not-for-clients' | UnreadableItem;

/** Why an item cannot be read. */
export type UnreadableItem = 'no_type' | 'no_name';

/** Reads an output item of the Responses API, which is also the app-server's format. */
export const readItem = (raw: JsonObject): ReadItem => {
  const type = textIn(raw, 'type');
  if (type === '') return 'no_type';
  if (CODEX_OWN.has(type)) return 'not-for-clients';
  switch (type) {
    case 'message':
      return (raw['role'] ?? 'assistant') === 'assistant' ? readMessage(raw) : 'not-for-clients';
    case 'reasoning':
      return readReasoning(raw);
    case 'function_call':
    case 'custom_tool_call':
      return readCall(raw, type === 'function_call' ? 'function' : 'custom');
    case 'tool_search_output':
      // codex's own tool searches are hidden; those of a backend are marked as such.
      return raw['execution'] === 'server' ? { kind: 'opaque', raw: rawOf(raw, type) } : 'not-for-clients';
    case 'compaction':
    case 'compaction_summary': {
      const encryptedContent = raw['encrypted_content'];
      if (typeof encryptedContent === 'string') return { kind: 'compaction', encryptedContent };
      return { kind: 'opaque', raw: rawOf(raw, type) };
    }
    default:
      return type.endsWith('_call')
        ? { kind: 'hosted-call', raw: rawOf(raw, type) }
        : { kind: 'opaque', raw: rawOf(raw, type) };
  }
};

/** Prefixes of ids for items without one. */
export const ID_PREFIXES: Readonly<Record<OutputItem['kind'], string>> = {
  message: 'msg',
  reasoning: 'rs',
  'tool-call': 'fc',
  'hosted-call': 'item',
  compaction: 'cmp',
  opaque: 'item',
};

/** What is known of an item at its start: its texts follow, and encrypted content may still change. */
export const itemHead = (item: OutputItem): OutputItem => {
  switch (item.kind) {
    case 'message': {
      const { status: _, ...head } = item;
      return { ...head, parts: [] };
    }
    case 'reasoning':
      return { kind: 'reasoning', summary: [] };
    case 'tool-call': {
      const { status: _, ...head } = item;
      return { ...head, input: '' };
    }
    case 'hosted-call': {
      const { status: _, ...head } = item;
      return head;
    }
    case 'compaction':
    case 'opaque':
      return item;
    default:
      return assertNever(item);
  }
};

/** The fields that a client has read at an item's start: they stay, whatever the complete item says. */
export const startFields = (head: OutputItem): Partial<OutputItem> => {
  switch (head.kind) {
    case 'message': {
      const { parts: _, ...facts } = head;
      return facts;
    }
    case 'tool-call': {
      const { input: _, ...facts } = head;
      return facts;
    }
    case 'reasoning':
    case 'hosted-call':
    case 'compaction':
    case 'opaque':
      return {};
    default:
      return assertNever(head);
  }
};

/** The texts of an item that are streamed as deltas. */
export const textsOf = (item: OutputItem): readonly (readonly [Slot, string])[] => {
  switch (item.kind) {
    case 'message':
      return item.parts.flatMap((part) =>
        part.kind === 'text' || part.kind === 'refusal' ? [[part.kind, part.text] as const] : [],
      );
    case 'reasoning':
      return [
        ...item.summary.map((text, index) => [{ list: 'summary', index }, text] as const),
        ...(item.content ?? []).map((text, index) => [{ list: 'reasoning', index }, text] as const),
      ];
    case 'tool-call':
      return [['input', item.input]];
    case 'hosted-call':
    case 'compaction':
    case 'opaque':
      return [];
    default:
      return assertNever(item);
  }
};

/**
 * Fills in the input of a call that the complete item omits: it was streamed before, or is empty. A function
 * without parameters may be called with an empty text, which is not JSON.
 */
export const withInput = (whole: OutputItem, { input }: ItemContent): OutputItem => {
  if (whole.kind !== 'tool-call' || whole.input !== '') return whole;
  return { ...whole, input: input === '' && whole.tool === 'function' ? '{}' : input };
};

/** Bounds a list that is indexed by the upstream. */
const MAX_PARTS = 1_000;

/** Parts of a list arrive in order, and a refusal follows the text. */
export const fitsInOrder = ({ at, delta }: ItemDelta, said: ItemContent): boolean => {
  if (typeof at !== 'string') {
    return at.index >= Math.max(said[at.list].length - 1, 0) && at.index < MAX_PARTS;
  }
  return at !== 'text' || delta === '' || said.refusal === null;
};

/** The complete item with the texts that were streamed; they differ only if a backend contradicts itself. */
export const withStreamed = (whole: OutputItem, said: ItemContent): OutputItem => {
  switch (whole.kind) {
    case 'message': {
      const text = whole.parts.find((part) => part.kind === 'text');
      const annotations = continued(said.annotations, text?.annotations);
      const logprobs = continued(said.logprobs, text?.logprobs);
      return {
        ...whole,
        parts: messageParts({ text: said.text, refusal: said.refusal, annotations, logprobs }),
      };
    }
    case 'reasoning':
      return {
        ...whole,
        summary: said.summary,
        ...(said.reasoning.length === 0 ? {} : { content: said.reasoning }),
      };
    case 'tool-call': {
      // Its namespace was decided at its start.
      const { namespace: _, ...call } = whole;
      return { ...call, input: said.input };
    }
    case 'hosted-call':
    case 'compaction':
    case 'opaque':
      return whole;
    default:
      return assertNever(whole);
  }
};

const readMessage = (raw: JsonObject): OutputItem => {
  const parts = objectsIn(raw, 'content');
  const texts = parts.filter((part) => part['type'] === 'output_text');
  const refusals = parts.filter((part) => part['type'] === 'refusal');
  const phase = phaseOf(raw['phase']);
  return {
    kind: 'message',
    role: 'assistant',
    parts: messageParts({
      text: texts.map((part) => textIn(part, 'text')).join(''),
      refusal: refusals.length === 0 ? null : refusals.map((part) => textIn(part, 'refusal')).join(''),
      annotations: texts.flatMap((part) => listIn(part, 'annotations')),
      logprobs: texts.flatMap((part) => listIn(part, 'logprobs')),
    }),
    ...(phase === null ? {} : { phase }),
    status: statusOf(raw),
  };
};

const readReasoning = (raw: JsonObject): OutputItem => {
  const content = objectsIn(raw, 'content').map((part) => textIn(part, 'text'));
  const encryptedContent = raw['encrypted_content'];
  return {
    kind: 'reasoning',
    summary: objectsIn(raw, 'summary').map((part) => textIn(part, 'text')),
    ...(content.length === 0 ? {} : { content }),
    ...(typeof encryptedContent === 'string' ? { encryptedContent } : {}),
    status: statusOf(raw),
  };
};

const readCall = (raw: JsonObject, tool: 'function' | 'custom'): ReadItem => {
  const { call_id: callId, name, namespace } = raw;
  if (typeof name !== 'string' || name === '') return 'no_name';
  const written = textIn(raw, tool === 'function' ? 'arguments' : 'input');
  return {
    kind: 'tool-call',
    tool,
    // Filled in later if empty.
    callId: typeof callId === 'string' ? callId : '',
    name,
    ...(typeof namespace === 'string' && namespace !== '' ? { namespace } : {}),
    input: written,
    ...furtherFields(raw),
    status: statusOf(raw),
  };
};

/** Fields of a call that only a client and its backend understand: the client sends them back. */
const furtherFields = ({ caller, async }: JsonObject): { more?: JsonObject } => {
  const said = {
    ...(isJsonObject(caller) ? { caller } : {}),
    ...(typeof async === 'boolean' ? { async } : {}),
  };
  return Object.keys(said).length === 0 ? {} : { more: said };
};

const rawOf = (raw: JsonObject, type: string): RawItem => {
  const { internal_chat_message_metadata_passthrough: _, ...rest } = raw;
  return { ...rest, type };
};

const statusOf = (raw: JsonObject): ItemStatus =>
  raw['status'] === 'incomplete' ? 'incomplete' : 'completed';

export const phaseOf = (phase: unknown): Phase | null =>
  phase === 'commentary' || phase === 'final_answer' ? phase : null;

/** The streamed entries, then the rest of the complete list. */
const continued = (said: readonly Json[], whole: readonly Json[] = []): readonly Json[] => [
  ...said,
  ...whole.slice(said.length),
];

/** The failure of an answer that contained only an unreadable item. */
export const DROPPED: Readonly<Record<UnreadableItem, { readonly message: string }>> = {
  no_type: { message: 'The upstream sent an output item without a type, and nothing else.' },
  no_name: { message: 'The upstream sent a tool call without a name, and nothing else.' },
};
