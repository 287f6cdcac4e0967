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

/** What a backend takes in the input of a request. */
export interface InputSupport {
  readonly systemRole: boolean;
  readonly imageDetail: boolean;
  readonly files: boolean;
  readonly cacheBreakpoints: boolean;
  readonly callFields: boolean;
}

/** The conversation as the client would have sent it itself, with its own ids or none. */
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

/** Where codex writes what it notes about an item. Nobody but a backend reads it. */
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

/** The part as the client sent it, where the app-server's own form of it says less. */
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
  /** Items that the app-server had put among ours by itself, and that are out again. */
  readonly added: number;
  /** Items of ours that the app-server had left out, and that are back. */
  readonly missing: number;
  /** None of ours was found: the input is as the app-server made it. */
  readonly isLost: boolean;
}

/** What the app-server may put in front of the conversation because we asked it to. */
export interface InputPrefix {
  /** A message with the developer instructions: this text. */
  readonly developerInstructions: string | null;
  /** The first model request of a thread ends with our last item; later ones go on behind it. */
  readonly isFirstRequest: boolean;
  /** What the model has put out in this turn. */
  readonly answers: TurnAnswers;
}

/**
 * Puts the client's own items back where the app-server has its forms of them. They are found by the
 * id that each was injected under, so it does not matter where they stand.
 */
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
