import type { Item, Part } from '../../../canonical/request/item.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../kit/json/json.ts';
import { plainOutput } from './plain-output.ts';
import type { TurnAnswers } from './turn-answers.ts';
import { withTextFiles } from '../../translate/fit-files.ts';
import {
  developerMessage,
  placeholderId,
  toResponseItem,
  toContentItem,
  type Injected,
} from '../../translate/inject-items.ts';

/** What a backend accepts in the input of a request. */
export interface InputSupport {
  readonly systemRole: boolean;
  readonly imageDetail: boolean;
  readonly files: boolean;
  readonly cacheBreakpoints: boolean;
  readonly callFields: boolean;
}

/** The conversation as the client would have sent it, with its own ids or none. */
export const exactInput = (
  { instructions, items }: Injected,
  support: InputSupport,
): readonly JsonObject[] => {
  const own = items.map((item) => exactItem(item, support));
  if (instructions === null) return own;
  return [developerMessage(instructions), ...own];
};

const exactItem = (given: Item, support: InputSupport): JsonObject => {
  const exact = exactForm(given, support);
  return 'notes' in given && given.notes !== undefined ? { ...exact, [NOTES]: given.notes } : exact;
};

/** The field where codex stores notes about an item, for its backend only. */
const NOTES = 'internal_chat_message_metadata_passthrough';

const exactForm = (given: Item, support: InputSupport): JsonObject => {
  const item = support.files ? given : withTextFiles(given);
  const raw = toResponseItem(item);
  if (item.kind === 'message') {
    const role = item.role === 'system' && support.systemRole ? 'system' : raw['role'];
    const content = item.parts.map((part) => exactPart(part, item.role === 'assistant', support));
    return { ...raw, role, content };
  }
  if (item.kind === 'tool-call' || item.kind === 'tool-output') {
    const more = support.callFields ? item.more : {};
    if (item.kind === 'tool-call' || typeof item.output === 'string') return { ...raw, ...more };
    return { ...raw, ...more, output: item.output.map((part) => exactPart(part, false, support)) };
  }
  const { encrypted_content: encrypted, ...rest } = raw;
  return item.kind === 'reasoning' && encrypted === null ? rest : raw;
};

const exactPart = (part: Part, fromAssistant: boolean, support: InputSupport): JsonObject => {
  const exact = exactContent(part, fromAssistant, support);
  return 'cacheBreakpoint' in part && part.cacheBreakpoint !== undefined && support.cacheBreakpoints
    ? { ...exact, prompt_cache_breakpoint: part.cacheBreakpoint }
    : exact;
};

/** The part as the client sent it, if the app-server's form has less information. */
const exactContent = (part: Part, fromAssistant: boolean, support: InputSupport): JsonObject => {
  if (part.kind === 'audio') {
    return { type: 'input_audio', input_audio: { data: part.data, format: part.format } };
  }
  if (part.kind === 'refusal' && fromAssistant) return { type: 'refusal', refusal: part.text };
  if (part.kind === 'image') {
    const { detail: _, ...plain } = toContentItem(part, fromAssistant);
    return part.detail === undefined || !support.imageDetail ? plain : { ...plain, detail: part.detail };
  }
  return toContentItem(part, fromAssistant);
};

export interface RestoredInput {
  readonly input: readonly Json[];
  /** Number of items that the app-server had added among ours; removed. */
  readonly added: number;
  /** Number of our items that the app-server had dropped; restored. */
  readonly missing: number;
  /** None of our items was found: the input stays as the app-server made it. */
  readonly isLost: boolean;
}

/** What the app-server may put before the conversation at our request. */
export interface InputPrefix {
  /** The text of the message with the developer instructions. */
  readonly developerInstructions: string | null;
  /** The first model request of a thread ends with our last item; later ones continue after it. */
  readonly isFirstRequest: boolean;
  /** What the model has output in this turn. */
  readonly answers: TurnAnswers;
}

/** Replaces the app-server's forms of the client's items by the originals, found by the id they were injected with. */
export const restoreInput = (
  input: readonly Json[],
  exact: readonly JsonObject[],
  front: InputPrefix,
): RestoredInput => {
  const places = new Set(exact.map((_, place) => placeholderId(place)));
  const isOurs = (entry: Json): boolean =>
    isJsonObject(entry) && typeof entry['id'] === 'string' && places.has(entry['id']);
  const found = input.filter(isOurs).length;
  if (found === 0 && exact.length > 0) return { input, added: 0, missing: exact.length, isLost: true };
  const last = input.findLastIndex(isOurs);
  const tools = input
    .slice(0, 1)
    .filter((entry) => isJsonObject(entry) && entry['type'] === 'additional_tools');
  const instructions =
    front.developerInstructions === null ? [] : [developerMessage(front.developerInstructions)];
  const behind = front.isFirstRequest ? [] : input.slice(Math.max(last + 1, tools.length));
  const expected = tools.length + instructions.length + behind.length + found;
  return {
    input: [...tools, ...instructions, ...exact, ...front.answers.restoreInto(behind).map(plainOutput)],
    added: Math.max(0, input.length - expected),
    missing: exact.length - found,
    isLost: false,
  };
};
