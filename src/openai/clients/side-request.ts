import type { SideRequest } from '../../turns/api.ts';
import type { Item } from '../../canonical/request/item.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { ClientSeen } from './recognise.ts';
import { summaryOf, titleOf } from './short-texts.ts';
import { TITLE_FORMS, type TitleForm } from './title-forms.ts';

/**
 * The title or summary request that this is; null: it is an ordinary request. It is one only if the headers name a
 * client that sends such requests, and if the request is that client's prompt as a whole. A user who types the same
 * words, or asks for more after them, gets the model that was requested.
 */
export const sideRequestOf = (
  request: TurnRequest,
  choices: number,
  client: Pick<ClientSeen, 'family' | 'tier'>,
): SideRequest | null => {
  if (client.tier !== 'header' || choices > 1 || request.tools.length > 0) return null;
  if (wantsLogprobs(request) || !request.items.every(({ kind }) => kind === 'message')) return null;
  const form = TITLE_FORMS.find((one) => one.families.includes(client.family) && isOf(one, request));
  return form === undefined
    ? null
    : { kind: form.kind, shape: form.kind === 'title-and-summary' ? summaryOf : titleOf };
};

const isOf = (form: TitleForm, request: TurnRequest): boolean => {
  // A schema says by itself what the answer looks like.
  const takesFormat =
    request.format.kind === 'text' ||
    (form.kind === 'title-and-summary' && request.format.kind === 'json-object');
  if (!takesFormat) return false;
  const { prompt, messages } = partsOf(request);
  const [message, ...more] = messages;
  return (
    (form.prompt === null ? prompt === null : prompt !== null && form.prompt.test(prompt)) &&
    form.message.test(textOf(message, 'user') ?? '') &&
    form.hasMore === more.length > 0
  );
};

/** The system prompt, from either place, and the messages after it. */
const partsOf = ({
  instructions,
  items,
}: TurnRequest): { readonly prompt: string | null; readonly messages: readonly Item[] } => {
  if ((instructions ?? '') !== '') return { prompt: instructions, messages: items };
  const prompt = textOf(items[0], 'system', 'developer');
  return { prompt, messages: prompt === null ? items : items.slice(1) };
};

/** The text of a message that has one of these roles and nothing but one text; null for others. */
const textOf = (item: Item | undefined, ...roles: readonly string[]): string | null => {
  if (item?.kind !== 'message' || !roles.includes(item.role) || item.parts.length !== 1) return null;
  const [only] = item.parts;
  return only?.kind === 'text' ? only.text : null;
};

/** They are of the tokens that the model wrote, and here the text is cut to size. */
const wantsLogprobs = ({ logprobs, include }: TurnRequest): boolean =>
  logprobs.isNeeded || logprobs.top !== null || include.includes('message.output_text.logprobs');
