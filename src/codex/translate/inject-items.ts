import { summaryMessage } from '../../canonical/request/compaction.ts';
import {
  isSummary,
  rawOf,
  type Item,
  type Message,
  type Part,
  type ToolOutput,
} from '../../canonical/request/item.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { present, type JsonObject } from '../../kit/json/json.ts';
import type { RequestStrategy } from './request-strategy.ts';
import { isPromptMessage, type ThreadSettings } from './thread-start.ts';

/**
 * Which parts of a request are injected: prompts may be sent as developer instructions instead, and the relay
 * may set instructions in their own field.
 */
export interface InjectedParts {
  readonly instructions: string | null;
  readonly items: readonly Item[];
}

export const injectedOf = (
  request: TurnRequest,
  settings: ThreadSettings,
  strategy: Pick<RequestStrategy, 'instructions'>,
): InjectedParts => {
  if (settings.instructionsTarget === 'developer') {
    return { instructions: null, items: request.items.filter((item) => !isPromptMessage(item)) };
  }
  const isMessage = strategy.instructions === 'message' && request.instructions !== '';
  return { instructions: isMessage ? request.instructions : null, items: request.items };
};

/** The whole conversation as response items of the app-server, in order, with the client's own ids. */
export const toInjectItems = ({ instructions, items }: InjectedParts): readonly JsonObject[] => {
  const all = items.map(toResponseItem);
  return instructions === null ? all : [developerMessage(instructions), ...all];
};

/** The only item of a thread whose model requests the relay writes. Its id must contain `_`, or codex replaces it. */
export const placeholderItem = (id: string): JsonObject => ({
  ...messageOf('user', [{ type: 'input_text', text: '.' }]),
  id,
});

export const developerMessage = (text: string): JsonObject =>
  messageOf('developer', [{ type: 'input_text', text }]);

/** The type of an item in the Responses API. */
export const typeOf = (item: Item): string => {
  switch (item.kind) {
    case 'tool-call':
      return item.tool === 'function' ? 'function_call' : 'custom_tool_call';
    case 'tool-output':
      return item.tool === 'function' ? 'function_call_output' : 'custom_tool_call_output';
    case 'hosted-call':
    case 'loaded-tools':
    case 'opaque':
      return item.raw.type;
    case 'message':
    case 'reasoning':
      return item.kind;
    case 'compaction':
      return isSummary(item) ? 'message' : item.kind;
    default:
      return assertNever(item);
  }
};

export const toResponseItem = (item: Item): JsonObject => {
  switch (item.kind) {
    case 'message':
      return message(item);
    case 'reasoning':
      return {
        type: 'reasoning',
        ...idOf(item),
        summary: item.summary.map((text) => ({ type: 'summary_text', text })),
        ...(item.content === undefined
          ? {}
          : { content: item.content.map((text) => ({ type: 'reasoning_text', text })) }),
        encrypted_content: item.encryptedContent ?? null,
      };
    case 'tool-call':
      return {
        type: typeOf(item),
        ...idOf(item),
        call_id: item.callId,
        name: item.name,
        ...(item.namespace === undefined ? {} : { namespace: item.namespace }),
        ...(item.tool === 'function' ? { arguments: item.input } : { input: item.input }),
      };
    case 'tool-output':
      return {
        type: typeOf(item),
        ...idOf(item),
        ...(item.callId === null ? toolNameOf(item) : { call_id: item.callId }),
        output: output(item.output),
      };
    case 'compaction':
      if (isSummary(item)) return message(summaryMessage(item));
      return { type: 'compaction', ...idOf(item), encrypted_content: item.encryptedContent };
    case 'hosted-call':
    case 'loaded-tools':
    case 'opaque':
      return rawOf(item);
    default:
      return assertNever(item);
  }
};

const message = (item: Message): JsonObject => ({
  ...messageOf(
    // The app-server silently drops `system` messages; `developer` has the same rank.
    item.role === 'system' ? 'developer' : item.role,
    item.parts.map((part) => toContentItem(part, item.role === 'assistant')),
  ),
  ...idOf(item),
  ...(item.phase === undefined ? {} : { phase: item.phase }),
});

const messageOf = (role: string, content: readonly JsonObject[]): JsonObject => ({
  type: 'message',
  role,
  content,
});

const output = (value: string | readonly Part[]): string | readonly JsonObject[] =>
  typeof value === 'string' ? value : value.map((part) => toContentItem(part, false));

export const toContentItem = (part: Part, fromAssistant: boolean): JsonObject => {
  switch (part.kind) {
    case 'text':
      return {
        type: fromAssistant ? 'output_text' : 'input_text',
        text: part.text,
        ...(fromAssistant && part.annotations !== undefined ? { annotations: part.annotations } : {}),
      };
    case 'image':
      return {
        type: 'input_image',
        image_url: part.url,
        // The app-server would replace an image of low detail by a sentence.
        ...(part.detail === undefined || part.detail === 'low' ? {} : { detail: part.detail }),
      };
    case 'audio':
      return { type: 'input_audio', audio_url: `data:audio/${part.format};base64,${part.data}` };
    case 'file':
      return part.raw;
    case 'refusal':
      // There is no refusal part; the text is still the assistant's.
      return { type: fromAssistant ? 'output_text' : 'input_text', text: part.text };
    default:
      return assertNever(part);
  }
};

/** Which tool an output without a call is from. */
const toolNameOf = ({ name, namespace }: ToolOutput): JsonObject => present({ name, namespace });

const idOf = (item: { readonly id?: string }): { id?: string } =>
  item.id === undefined ? {} : { id: item.id };
