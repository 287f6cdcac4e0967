import type { Item, Part } from '../../../canonical/request/item.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { withTextFiles } from '../../translate/fit-files.ts';
import {
  developerMessage,
  toResponseItem,
  toContentItem,
  type InjectedParts,
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
  { instructions, items }: InjectedParts,
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
