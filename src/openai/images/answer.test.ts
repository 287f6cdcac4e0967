import type { OpenAI } from 'openai';
import { describe, expect, it } from 'vitest';

import { collect, emit } from '../../../test/support/turn-events.ts';
import { fold } from '../../canonical/events/accumulate.ts';
import type { Produced } from '../../canonical/request/item.ts';
import type { Outcome, TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Usage } from '../../canonical/events/usage.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import { projectImages, renderImages, type ImagesMeta, onlyImages } from './answer.ts';

const META: ImagesMeta = {
  prefix: 'image_generation',
  createdAt: 7,
  requested: { size: '1024x1536', quality: 'auto' },
  usagePolicy: 'exact',
};
const USAGE: Usage = {
  inputTokens: 5,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 3,
  reasoningTokens: 1,
  totalTokens: 8,
};

const call = (id: string, raw: JsonObject): Produced => ({
  kind: 'hosted-call',
  id,
  raw: { ...raw, type: 'image_generation_call' },
});
const message = (text: string): Produced => ({
  kind: 'message',
  id: 'm',
  role: 'assistant',
  parts: [{ kind: 'text', text }],
});

const turn = (
  items: readonly Produced[],
  usage: Usage | null = USAGE,
  outcome: Outcome = { kind: 'completed' },
): AsyncIterable<TurnEvent> =>
  onlyImages(
    emit([
      { type: 'turn-accepted', ignored: [], limitsOutput: false, headers: {} },
      ...items.flatMap((item): readonly TurnEvent[] => [
        { type: 'item-started', item },
        { type: 'item-status', itemId: item.id, status: 'generating' },
        { type: 'item-ended', item },
      ]),
      { type: 'turn-ended', outcome, usage, at: 9_900 },
    ]),
  );

const body = async (...turns: readonly AsyncIterable<TurnEvent>[]) => {
  const [first, ...rest] = await Promise.all(turns.map(fold));
  if (first === undefined) throw new Error('no turn');
  return projectImages([first, ...rest], META);
};
const framesOf = async (events: AsyncIterable<TurnEvent>, meta = META) =>
  (await collect(renderImages([events], meta))).map(({ data }) => data);

describe('the images of an answer', () => {
  it('are the last of each turn, with the requested settings if the backend reports none', async () => {
    const first = turn([call('a', { result: 'old' }), call('b', { result: 'new', quality: 'low' })]);
    const second = turn([message('Here it is.'), call('c', { result: 'two' })]);
    expect(await body(first, second)).toEqual({
      created: 7,
      data: [{ b64_json: 'new' }, { b64_json: 'two' }],
      output_format: 'png',
      quality: 'low',
      size: '1024x1536',
      usage: {
        input_tokens: 10,
        input_tokens_details: { text_tokens: 10, image_tokens: 0 },
        output_tokens: 6,
        total_tokens: 16,
      },
    } satisfies OpenAI.ImagesResponse);
  });

  it('include the usage of the image model if it is known', async () => {
    const images = {
      input: { tokens: 50, of: { text: 10, image: 40 } },
      output: { tokens: 60, of: { text: 1, image: 59 } },
    };
    const drawn = [call('a', { result: 'x' })];
    const counted = { ...USAGE, images };
    expect(await body(turn(drawn, counted), turn(drawn, counted))).toMatchObject({
      usage: {
        input_tokens: 100,
        input_tokens_details: { text_tokens: 20, image_tokens: 80 },
        output_tokens: 120,
        output_tokens_details: { text_tokens: 2, image_tokens: 118 },
        total_tokens: 220,
      },
    });
  });

  it('omit unknown usage, unless zeros are configured', async () => {
    const drawn = [call('a', { result: 'x' })];
    expect(await body(turn(drawn), turn(drawn, null))).not.toHaveProperty('usage');
    const [completed] = await framesOf(turn(drawn, null), { ...META, usagePolicy: 'zeros' });
    expect(completed).toMatchObject({ usage: { total_tokens: 0 } });
  });

  it('are sent as a complete event at the end of the turn', async () => {
    const usage = {
      input_tokens: 5,
      input_tokens_details: { text_tokens: 5, image_tokens: 0 },
      output_tokens: 3,
      total_tokens: 8,
    };
    // The compiler checks this against the types of OpenAI's client.
    const completed: OpenAI.ImageGenCompletedEvent = {
      type: 'image_generation.completed',
      b64_json: 'x',
      created_at: 9,
      background: 'auto',
      output_format: 'png',
      quality: 'auto',
      size: '1024x1536',
      usage,
    };
    expect(await framesOf(turn([call('a', { result: 'x' })]))).toEqual([completed, '[DONE]']);
  });
});

describe('a turn without an image', () => {
  it.each<[string, readonly Produced[], Outcome, string]>([
    ['has only text', [message('Hi.')], { kind: 'completed' }, 'image_not_generated'],
    ['has nothing', [], { kind: 'completed' }, 'image_not_generated'],
    ['has an empty image', [call('a', { result: '' })], { kind: 'completed' }, 'image_not_generated'],
    ['was cut', [], { kind: 'incomplete', reason: 'max_output_tokens' }, 'image_not_generated'],
    [
      'was filtered',
      [message('Hi.')],
      { kind: 'incomplete', reason: 'content_filter' },
      'moderation_blocked',
    ],
    [
      'has an error',
      [call('a', { result: null, error: { code: 'sexual', message: 'No.' } })],
      { kind: 'completed' },
      'sexual',
    ],
  ])('%s and fails', async (_, items, outcome, code) => {
    const { outcome: told } = await fold(turn(items, USAGE, outcome));
    expect(told).toMatchObject({ kind: 'failed', failure: { code } });
    expect(await framesOf(turn(items, USAGE, outcome))).toMatchObject([
      { type: 'error', error: { code } },
      '[DONE]',
    ]);
  });

  it('keeps its own failure', async () => {
    const failed = turn([message('Hi.')], null, { kind: 'failed', failure: { code: 'x' } as never });
    expect(await fold(failed)).toMatchObject({ outcome: { failure: { code: 'x' } }, items: [] });
  });
});
