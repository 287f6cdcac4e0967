import { gatewayError } from '../../../canonical/failure/failure.ts';
import type { Item } from '../../../canonical/request/item.ts';
import { findPairingProblem } from '../../../canonical/request/pairing.ts';
import { isJsonObject } from '../../../kit/json/json.ts';
import { quoted } from '../../../kit/text/display.ts';

interface Conversation {
  readonly items: readonly Item[];
  /** The location of each item in the body. */
  readonly places: readonly string[];
}

/** Throws, in Anthropic's words, if a call has no result or a result no call. */
export const checkPairs = ({ items, places }: Conversation): void => {
  const problem = findPairingProblem(items);
  if (problem === null) return;
  const { kind, index, callId } = problem;
  const at = places[index] ?? 'messages';
  const id = quoted(callId);
  const [param, message] = {
    'call-without-output': [
      at,
      `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${id}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
    ],
    'output-without-call': [
      `${at}.tool_use_id`,
      `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
    ],
    'duplicate-call': [`${at}.id`, `\`tool_use\` ids must be unique: ${id} is used twice.`],
    'duplicate-output': [
      `${at}.tool_use_id`,
      `each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}.`,
    ],
  }[kind] as [string, string];
  throw gatewayError('invalid_value', { param, message: `${param}: ${message}` });
};

/**
 * Throws if the request ends with the beginning of an answer. No backend can continue a text: it would begin a new one,
 * and clients would join the two. Newer Claude models reject it in the same words.
 */
export const rejectPrefill = (messages: readonly unknown[], { places }: Conversation): void => {
  const last = messages.at(-1);
  if (!isJsonObject(last) || last['role'] !== 'assistant') return;
  const at = `messages[${messages.length - 1}]`;
  const place = places.at(-1) ?? '';
  if (place !== at && !place.startsWith(`${at}.`)) return;
  throw gatewayError('unsupported_value', {
    param: at,
    message: `${at}: This model does not support assistant message prefill. The conversation must end with a user message.`,
  });
};
