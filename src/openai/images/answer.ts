import type { Reply } from '../../canonical/events/accumulate.ts';
import type { TurnEnded, TurnEvent, TurnResult } from '../../canonical/events/turn-event.ts';
import { addUsage, type Usage } from '../../canonical/events/usage.ts';
import { interleave } from '../../kit/async/interleave.ts';
import { type Json, type JsonObject, isJsonObject } from '../../kit/json/json.ts';
import type { OneOrMore } from '../../kit/collections/lists.ts';
import type { UsagePolicy } from '../shared/render-choices.ts';
import { errorBody } from '../shared/error-body.ts';
import { DONE } from '../../apis/sse.ts';
import type { Frame } from '../../turns/api.ts';
import { failure, type Failure } from '../../canonical/failure/failure.ts';
import { isMessage, wordsOf, type Item, type Produced } from '../../canonical/request/item.ts';

/** What an answer needs besides the replies. */
export interface ImagesMeta {
  /** The prefix of stream events. */
  readonly prefix: 'image_generation' | 'image_edit';
  /** Unix seconds. */
  readonly createdAt: number;
  /** The requested settings, used if the backend does not report its own. */
  readonly requested: ImageSettings;
  readonly usagePolicy: UsagePolicy;
}

const SETTINGS = ['background', 'output_format', 'quality', 'size'] as const;
type ImageSettings = Readonly<Partial<Record<(typeof SETTINGS)[number], string | null | undefined>>>;

/** The JSON body: one image per turn, the last one if a model drew several. */
export const projectImages = (replies: OneOrMore<Reply>, meta: ImagesMeta) => {
  const calls = replies.flatMap(({ items }) => {
    const call = items.map(imageCallOf).findLast((one) => drawnBy(one) !== null);
    return call === null || call === undefined ? [] : [call];
  });
  const usage = projectUsage(replies, meta.usagePolicy);
  return {
    created: meta.createdAt,
    data: calls.map((call) => ({ b64_json: drawnBy(call), ...revisedPrompt(call) })),
    ...known(settingsOf(calls[0] ?? {}, meta)),
    ...(usage === null ? {} : { usage }),
  };
};

/** Renders the turns as OpenAI's image stream. */
export async function* renderImages(
  turns: OneOrMore<AsyncIterable<TurnEvent>>,
  meta: ImagesMeta,
): AsyncGenerator<Frame> {
  const drawn = new Map<number, JsonObject>();
  const frame = (name: string, payload: object): Frame => {
    const type = `${meta.prefix}.${name}`;
    return { event: type, data: { type, ...payload } };
  };
  for await (const [index, event] of interleave(turns)) {
    if (event.type === 'item-status' && event.status === 'partial_image') {
      const { partial_image_b64: b64_json, partial_image_index } = event.more ?? {};
      yield frame('partial_image', {
        b64_json,
        partial_image_index,
        created_at: meta.createdAt,
        ...settingsOf(event.more ?? {}, meta),
      });
    }
    if (event.type === 'item-ended') {
      const call = imageCallOf(event.item);
      if (call !== null && drawnBy(call) !== null) drawn.set(index, call);
    }
    if (event.type !== 'turn-ended') continue;
    if (event.outcome.kind === 'failed') {
      yield { event: 'error', data: { type: 'error', ...errorBody(event.outcome.failure) } };
      break;
    }
    const call = drawn.get(index) ?? {};
    const usage = projectUsage([event], meta.usagePolicy);
    // Sent at the end of the turn, because it includes the usage.
    yield frame('completed', {
      b64_json: drawnBy(call),
      ...revisedPrompt(call),
      created_at: Math.floor(event.at / 1000),
      ...settingsOf(call, meta),
      ...(usage === null ? {} : { usage }),
    });
    drawn.delete(index);
  }
  yield { event: 'done', data: DONE };
}

const revisedPrompt = ({ revised_prompt }: JsonObject) =>
  typeof revised_prompt === 'string' && revised_prompt !== '' ? { revised_prompt } : {};

/** The settings of an image: as reported by the backend, else as requested, else the default. */
const settingsOf = (
  reported: JsonObject,
  { requested }: ImagesMeta,
): Record<(typeof SETTINGS)[number], string> => {
  const value = (name: (typeof SETTINGS)[number], otherwise: string): string =>
    textOf(reported[name]) ?? requested[name] ?? otherwise;
  return {
    background: value('background', 'auto'),
    output_format: value('output_format', 'png'),
    quality: value('quality', 'auto'),
    size: value('size', 'auto'),
  };
};

/** Removes `auto`, which is not a property of a finished image. */
const known = (settings: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== 'auto'));

const textOf = (value: Json | undefined): string | null => (typeof value === 'string' ? value : null);

/** The tokens of the image model if the backend counts them, else those of the turn as text tokens. */
const projectUsage = (turns: readonly TurnResult[], policy: UsagePolicy) => {
  const parsed = turns.map((turn) => turn.usage);
  // A partial sum is not exact.
  if (policy === 'exact' && parsed.includes(null)) return null;
  const usage = parsed.reduce<Usage | null>(addUsage, null);
  const input = usage?.images?.input ?? { tokens: usage?.inputTokens ?? 0, of: null };
  const output = usage?.images?.output ?? { tokens: usage?.outputTokens ?? 0, of: null };
  return {
    input_tokens: input.tokens,
    input_tokens_details: {
      text_tokens: input.of?.text ?? input.tokens,
      image_tokens: input.of?.image ?? 0,
    },
    output_tokens: output.tokens,
    ...(output.of === null
      ? {}
      : { output_tokens_details: { text_tokens: output.of.text, image_tokens: output.of.image } }),
    total_tokens: input.tokens + output.tokens,
  };
};

/** Limit on the quoted text of a model that wrote text instead of an image. */
const MAX_WORDS = 1_000;

/** The raw image generation call; null for other items. */
const imageCallOf = (item: Item): JsonObject | null =>
  item.kind === 'hosted-call' && item.raw.type === 'image_generation_call' ? item.raw : null;

/** The image of a call in base64, or null. */
const drawnBy = (call: JsonObject | null): string | null => {
  const result = call?.['result'];
  return typeof result === 'string' && result !== '' ? result : null;
};

/** Keeps only the images of a turn. A turn without an image fails. */
export async function* onlyImages(events: AsyncIterable<TurnEvent>): AsyncGenerator<TurnEvent> {
  const shown = new Set<string>();
  const all: Produced[] = [];
  let hasImage = false;
  for await (const event of events) {
    switch (event.type) {
      case 'item-started':
        if (imageCallOf(event.item) === null) break;
        shown.add(event.item.id);
        yield event;
        break;
      case 'item-ended':
        hasImage ||= drawnBy(imageCallOf(event.item)) !== null;
        if (shown.has(event.item.id)) yield event;
        all.push(event.item);
        break;
      case 'item-delta':
      case 'item-status':
        if (shown.has(event.itemId)) yield event;
        break;
      case 'turn-ended':
        yield hasImage || event.outcome.kind === 'failed' ? event : without(event, all);
        break;
      case 'turn-accepted':
        yield event;
    }
  }
}

const without = (ended: TurnEnded, items: readonly Produced[]): TurnEnded => ({
  ...ended,
  outcome: { kind: 'failed', failure: whyNone(ended, items) },
});

const whyNone = ({ outcome }: TurnEnded, items: readonly Produced[]): Failure => {
  const refused = items.map(refusalOf).find((refusal) => refusal !== null);
  if (refused !== undefined) return refused;
  if (outcome.kind === 'incomplete' && outcome.reason === 'content_filter')
    return failure('moderation_blocked');
  const words = items
    .filter(isMessage)
    .map((message) => wordsOf(message, 'text'))
    .join('\n')
    .trim();
  if (words === '') return failure('image_not_generated');
  return failure('image_not_generated', {
    message: `The model answered without an image. It said: ${cut(words)}`,
  });
};

/** The failure for a call that the backend rejected, or for a refusal by the model. */
const refusalOf = (item: Produced): Failure | null => {
  if (isMessage(item)) {
    const message = wordsOf(item, 'refusal');
    return message === '' ? null : failure('moderation_blocked', { message: cut(message) });
  }
  const error = imageCallOf(item)?.['error'];
  if (!isJsonObject(error)) return null;
  const { code, message } = error;
  return failure('moderation_blocked', {
    ...(typeof code === 'string' && code !== '' ? { code } : {}),
    ...(typeof message === 'string' && message !== '' ? { message: cut(message) } : {}),
  });
};

const cut = (words: string): string =>
  words.length > MAX_WORDS ? `${words.slice(0, MAX_WORDS).toWellFormed()}…` : words;
