import { describe, expect, it } from 'vitest';

import { rendered } from '../../../../test/support/rendered.ts';
import { END } from '../../../../test/support/item-events.ts';
import { failure } from '../../../canonical/failure/failure.ts';
import { DONE } from '../../../apis/sse.ts';
import type { TurnEnded, TurnEvent } from '../../../canonical/events/turn-event.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { responseMeta } from '../../../../test/support/response-meta.ts';
import { collect, emit } from '../../../../test/support/turn-events.ts';
import { endFrames, renderResponse, ItemRenderer } from './render.ts';

/** The exact frames around the items. Properties for any turn are in test/laws. */

describe('the frame of the stream', () => {
  it('starts with the initial response, and ends with the complete one and [DONE]', async () => {
    const all = await rendered([END]);
    expect(all.map(({ event }) => event)).toEqual([
      'response.created',
      'response.in_progress',
      'response.completed',
      'done',
    ]);
    expect(
      all.map(({ data }) => (data === DONE ? data : (data as { sequence_number: number }).sequence_number)),
    ).toEqual([0, 1, 2, DONE]);
    expect(all[0]?.data).toMatchObject({ response: { id: 'resp_1', status: 'in_progress', usage: null } });
    expect(all[2]?.data).toMatchObject({ response: { id: 'resp_1', status: 'completed', output: [] } });
  });

  it('a limit: response.incomplete', async () => {
    const outcome = { kind: 'incomplete', reason: 'max_output_tokens' } as const;
    const all = await rendered([{ type: 'turn-ended', outcome, usage: null, at: 1_800_000_000_000 }]);
    expect(all.at(-2)).toMatchObject({
      event: 'response.incomplete',
      data: { response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } } },
    });
  });

  it('a failure: the error in both forms, then response.failed', async () => {
    const failed = failure('rate_limit_exceeded', { message: 'Slow down.' });
    const outcome = { kind: 'failed', failure: failed } as const;
    const all = await rendered([{ type: 'turn-ended', outcome, usage: null, at: 1_800_000_000_000 }]);
    expect(all.slice(2)).toEqual([
      {
        event: 'error',
        data: {
          type: 'error',
          sequence_number: 2,
          code: 'rate_limit_exceeded',
          message: 'Slow down.',
          param: null,
          error: {
            type: 'rate_limit_error',
            code: 'rate_limit_exceeded',
            message: 'Slow down.',
            param: null,
          },
        },
      },
      {
        event: 'response.failed',
        data: expect.objectContaining({
          response: expect.objectContaining({
            status: 'failed',
            error: { code: 'rate_limit_exceeded', message: 'Slow down.' },
          }),
        }),
      },
      { event: 'done', data: DONE },
    ]);
  });
});

const endedWith = (outcome: TurnEnded['outcome']): TurnEnded => ({
  type: 'turn-ended',
  outcome,
  usage: null,
  at: 1_800_000_000_000,
});

describe('endFrames', () => {
  it.each<[string, TurnEnded['outcome']]>([
    ['completed', { kind: 'completed' }],
    ['incomplete', { kind: 'incomplete', reason: 'max_output_tokens' }],
    ['failed', { kind: 'failed', failure: failure('server_error', { message: 'Gone.' }) }],
  ])('end a %s response as its own stream does', async (_, outcome) => {
    const meta = responseMeta({ isBackground: true });
    const frames = await collect(renderResponse(emit([endedWith(outcome)]), meta));
    const last = frames.at(-2)?.data as { readonly response: JsonObject };
    expect(endFrames(last.response, 2)).toEqual(frames.slice(2));
  });

  it('end a cancelled response without an event', () => {
    expect(endFrames({ status: 'cancelled' }, 7)).toEqual([{ event: 'done', data: '[DONE]' }]);
  });
});

/** Frames of newer item kinds; older ones are tested in `render-items.test.ts`. */

const META = responseMeta();

/** The frames of one item's events. */
const framesOf = (...events: readonly TurnEvent[]): unknown[] => {
  const [first] = events;
  if (first?.type !== 'item-started') throw new Error('the item does not start');
  const frames: unknown[] = [];
  const renderer = new ItemRenderer(first.item, 0, META, (type, payload) =>
    frames.push({ type, ...payload }),
  );
  for (const event of events) {
    if (event.type === 'item-started') renderer.start();
    else if (event.type === 'item-delta') renderer.delta(event);
    else if (event.type === 'item-status') renderer.status(event);
    else if (event.type === 'item-ended') renderer.end(event.item);
  }
  return frames;
};

describe('the frames of an item', () => {
  const place = { item_id: 'm', output_index: 0, content_index: 0 };

  it('has separate events for a custom tool call', () => {
    const head = {
      kind: 'tool-call',
      id: 'c',
      tool: 'custom',
      callId: 'call_1',
      name: 'patch',
      input: '',
    } as const;
    const call = { id: 'c', type: 'custom_tool_call', call_id: 'call_1', name: 'patch' };
    const at = { item_id: 'c', output_index: 0 };
    expect(
      framesOf(
        { type: 'item-started', item: head },
        { type: 'item-delta', itemId: 'c', at: 'input', delta: '***' },
        { type: 'item-ended', item: { ...head, input: '***', status: 'completed' } },
      ),
    ).toEqual([
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...call, status: 'in_progress', input: '' },
      },
      { type: 'response.custom_tool_call_input.delta', ...at, delta: '***' },
      { type: 'response.custom_tool_call_input.done', ...at, input: '***' },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { ...call, status: 'completed', input: '***' },
      },
    ]);
  });

  it('has progress events of a hosted call under its type', () => {
    const item = { kind: 'hosted-call', id: 'w', raw: { type: 'web_search_call' } } as const;
    const events = framesOf(
      { type: 'item-started', item },
      { type: 'item-status', itemId: 'w', status: 'searching' },
      { type: 'item-ended', item },
    );
    expect(events[1]).toEqual({ type: 'response.web_search_call.searching', output_index: 0, item_id: 'w' });
  });

  it("has the backend's other fields once", () => {
    const head = { kind: 'hosted-call', id: 'c', raw: { type: 'code_interpreter_call', code: '' } } as const;
    const ended = { ...head, raw: { ...head.raw, code: '1' } } as const;
    const at = { item_id: 'c', output_index: 0 };
    const delta = { type: 'item-delta', itemId: 'c', at: 'input', delta: '1' } as const;
    const of = 'code_interpreter_call_code';
    const status = { type: 'item-status', itemId: 'c' } as const;
    const started = { type: 'item-started', item: head } as const;
    const done = { type: `response.${of}.done`, ...at, code: '1' };
    const types = (...events: readonly TurnEvent[]) =>
      framesOf(started, ...events, { type: 'item-ended', item: ended }).slice(1, -1);
    expect(
      types(
        delta,
        { ...status, status: 'done', of, more: { code: '1' } },
        { ...status, status: 'partial_image', more: { partial_image_b64: 'AA==' } },
      ),
    ).toEqual([
      { type: `response.${of}.delta`, ...at, delta: '1' },
      done,
      { type: 'response.code_interpreter_call.partial_image', ...at, partial_image_b64: 'AA==' },
    ]);
    expect(types(delta)[1]).toEqual(done);
    expect(types()).toEqual([]);
  });

  it('has citations and log probabilities as they arrive', () => {
    const annotation = { type: 'url_citation', url: 'https://example.org' };
    const logprobs = [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [] }];
    const head = { kind: 'message', id: 'm', role: 'assistant', parts: [] } as const;
    const events = framesOf(
      { type: 'item-started', item: head },
      { type: 'item-delta', itemId: 'm', at: 'text', delta: 'a', logprobs },
      { type: 'item-delta', itemId: 'm', at: 'text', delta: '', annotation },
      {
        type: 'item-ended',
        item: {
          ...head,
          parts: [{ kind: 'text', text: 'a', annotations: [annotation], logprobs }],
          status: 'completed',
        },
      },
    );
    expect(events.slice(2, 5)).toEqual([
      { type: 'response.output_text.delta', ...place, delta: 'a', logprobs },
      { type: 'response.output_text.annotation.added', ...place, annotation_index: 0, annotation },
      { type: 'response.output_text.done', ...place, text: 'a', logprobs },
    ]);
  });
});
