import type { SideRequest } from '../../turns/api.ts';
import type { Item } from '../../canonical/request/item.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { DetectedClient } from '../../apis/clients/detect-client.ts';
import { cleanSummary, cleanTitle } from './clean-title.ts';
import { TITLE_PROMPTS, type TitlePrompt } from './title-prompts.ts';

/**
 * Detects a title or summary request; null for ordinary requests. The headers must name a client that sends such
 * requests, and the whole request must match that client's prompt. So a user who types the same words gets the
 * requested model.
 */
export const sideRequestOf = (
  request: TurnRequest,
  choices: number,
  client: Pick<DetectedClient, 'name' | 'source'>,
): SideRequest | null => {
  if (client.source !== 'header' || choices > 1 || request.tools.length > 0) return null;
  if (wantsLogprobs(request) || !request.items.every(({ kind }) => kind === 'message')) return null;
  const titlePrompt = TITLE_PROMPTS.find((one) => one.clients.includes(client.name) && matches(one, request));
  return titlePrompt === undefined
    ? null
    : { kind: titlePrompt.kind, clean: titlePrompt.kind === 'title-and-summary' ? cleanSummary : cleanTitle };
};

const matches = (titlePrompt: TitlePrompt, request: TurnRequest): boolean => {
  // A request with a schema defines its own answer format.
  const takesFormat =
    request.format.kind === 'text' ||
    (titlePrompt.kind === 'title-and-summary' && request.format.kind === 'json-object');
  if (!takesFormat) return false;
  const { prompt, messages } = partsOf(request);
  const [message, ...more] = messages;
  return (
    (titlePrompt.prompt === null ? prompt === null : prompt !== null && titlePrompt.prompt.test(prompt)) &&
    titlePrompt.message.test(textOf(message, 'user') ?? '') &&
    titlePrompt.hasMore === more.length > 0
  );
};

/** The system prompt, from the instructions or the first message, and the messages after it. */
const partsOf = ({
  instructions,
  items,
}: TurnRequest): { readonly prompt: string | null; readonly messages: readonly Item[] } => {
  if ((instructions ?? '') !== '') return { prompt: instructions, messages: items };
  const prompt = textOf(items[0], 'system', 'developer');
  return { prompt, messages: prompt === null ? items : items.slice(1) };
};

/** The text of a message with one of these roles and exactly one text part; null for others. */
const textOf = (item: Item | undefined, ...roles: readonly string[]): string | null => {
  if (item?.kind !== 'message' || !roles.includes(item.role) || item.parts.length !== 1) return null;
  const [only] = item.parts;
  return only?.kind === 'text' ? only.text : null;
};

/** Log probabilities belong to the model's tokens, but side requests rewrite the text. */
const wantsLogprobs = ({ logprobs, include }: TurnRequest): boolean =>
  logprobs.isNeeded || logprobs.top !== null || include.includes('message.output_text.logprobs');
