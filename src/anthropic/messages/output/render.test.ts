import { describe, expect, it } from 'vitest';

import { fold } from '../../../canonical/events/accumulate.ts';
import type { TurnEnded, TurnEvent } from '../../../canonical/events/turn-event.ts';
import type { Reasoning } from '../../../canonical/request/item.ts';
import { failure } from '../../../canonical/failure/failure.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { TextSigner } from '../../../store/text-signer.ts';
import {
  ACCEPTED,
  callDelta,
  callEnded,
  callStarted,
  callTold,
  END,
  messageTold,
} from '../../../../test/support/item-events.ts';
import { collect, emit } from '../../../../test/support/turn-events.ts';
import { readReasoning } from '../reasoning/thinking-block.ts';
import { arrangeMessage } from '../api.ts';
import { type MessagesMeta, projectMessage } from './project.ts';
import { renderMessage } from './render.ts';

const signer = new TextSigner([new Uint8Array(32)]);
const META: MessagesMeta = { id: 'msg_1', model: 'm', thinking: 'summarized' };
const CALLED: TurnEnded = { ...END, outcome: { kind: 'tool-calls' } };
const LIMITED: TurnEnded = { ...END, outcome: { kind: 'incomplete', reason: 'max_output_tokens' } };

const told = async (events: readonly TurnEvent[], meta = META) =>
  (await collect(renderMessage(arrangeMessage(emit(events), meta), meta, signer))).map(({ data }) => data);

/** The data between `message_start` and `message_delta`. */
const blocksTold = async (events: readonly TurnEvent[], meta = META) =>
  (await told(events, meta)).filter((data) => JSON.stringify(data).includes('"index"'));

const whole = async (events: readonly TurnEvent[], meta = META) =>
  projectMessage(await fold(arrangeMessage(emit(events), meta)), meta, signer);

const delta = (index: number, of: object) => ({ type: 'content_block_delta', index, delta: of });
const start = (index: number, block: object) => ({
  type: 'content_block_start',
  index,
  content_block: block,
});
const stop = (index: number) => ({ type: 'content_block_stop', index });

const thought = (summary: readonly string[], more: Partial<Reasoning> = {}): TurnEvent[] => [
  { type: 'item-started', item: { kind: 'reasoning', id: 'rs_1', summary: [] } },
  ...summary.map((text, index): TurnEvent => ({
    type: 'item-delta',
    itemId: 'rs_1',
    at: { list: 'summary', index },
    delta: text,
  })),
  { type: 'item-ended', item: { kind: 'reasoning', id: 'rs_1', summary, status: 'completed', ...more } },
];

describe('a stream of messages', () => {
  it('has one block at a time, also if items overlap', async () => {
    const events = [
      ACCEPTED,
      callStarted('a'),
      callStarted('b', { name: 'g' }),
      callDelta('b', '{"b":'),
      callDelta('a', '{"a"'),
      callDelta('b', '2}'),
      callDelta('a', ':1}'),
      callEnded('b', '{"b":2}', { name: 'g' }),
      callEnded('a', '{"a":1}'),
      CALLED,
    ];
    expect(await blocksTold(events)).toEqual([
      start(0, { type: 'tool_use', id: 'call_a', name: 'f', input: {} }),
      delta(0, { type: 'input_json_delta', partial_json: '{"a"' }),
      delta(0, { type: 'input_json_delta', partial_json: ':1}' }),
      stop(0),
      start(1, { type: 'tool_use', id: 'call_b', name: 'g', input: {} }),
      delta(1, { type: 'input_json_delta', partial_json: '{"b":' }),
      delta(1, { type: 'input_json_delta', partial_json: '2}' }),
      stop(1),
    ]);
    expect(await whole(events)).toMatchObject({
      content: [
        { type: 'tool_use', id: 'call_a', name: 'f', input: { a: 1 } },
        { type: 'tool_use', id: 'call_b', name: 'g', input: { b: 2 } },
      ],
      stop_reason: 'tool_use',
    });
  });

  it.each([
    ['', [], {}],
    [' \n', [], {}],
    [' {}', [' {}'], {}],
    ['[1]', ['{"arguments":"[1]"}'], { arguments: '[1]' }],
    ['no JSON', ['{"arguments":"no JSON"}'], { arguments: 'no JSON' }],
  ])('sends the arguments %j as an object', async (written, sent, input) => {
    const events = [ACCEPTED, ...callTold('a', ...written.split('')), CALLED];
    const joined = (await blocksTold(events))
      .flatMap((data) => (JSON.stringify(data).includes('partial_json') ? [data] : []))
      .map((data) => (data as { delta: { partial_json: string } }).delta.partial_json)
      .join('');
    expect(joined).toBe(sent.join(''));
    expect((await whole(events)).content).toEqual([{ type: 'tool_use', id: 'call_a', name: 'f', input }]);
  });

  it('ends with an error in place of half a call, which the JSON answer leaves out', async () => {
    const events = [
      ACCEPTED,
      ...messageTold('m', 'Look.'),
      callStarted('a'),
      callDelta('a', '{"a":"rm'),
      callEnded('a', '{"a":"rm', { status: 'incomplete' }),
      LIMITED,
    ];
    expect((await told(events)).slice(-3)).toEqual([
      start(1, { type: 'tool_use', id: 'call_a', name: 'f', input: {} }),
      delta(1, { type: 'input_json_delta', partial_json: '{"a":"rm' }),
      {
        type: 'error',
        error: {
          type: 'api_error',
          message:
            "The answer reached max_tokens within the arguments of a call of the tool 'f'. Ask again with a larger max_tokens.",
        },
      },
    ]);
    expect(await whole(events)).toMatchObject({
      content: [{ type: 'text', text: 'Look.' }],
      stop_reason: 'max_tokens',
    });
  });

  it('ends with the error of a failed turn', async () => {
    const events: TurnEvent[] = [
      ACCEPTED,
      ...messageTold('m', 'Loo'),
      { ...END, outcome: { kind: 'failed', failure: failure('upstream_overloaded', { message: 'Full.' }) } },
    ];
    expect((await told(events)).slice(-2)).toEqual([
      stop(0),
      { type: 'error', error: { type: 'overloaded_error', message: 'Full.' } },
    ]);
  });

  it('shows citations and refusals', async () => {
    const item = { kind: 'message', id: 'm', role: 'assistant', parts: [] } as const;
    const annotation = {
      type: 'url_citation',
      url: 'https://a.b/',
      title: 'A',
      start_index: 0,
      end_index: 1,
    };
    const events: TurnEvent[] = [
      ACCEPTED,
      { type: 'item-started', item },
      { type: 'item-delta', itemId: 'm', at: 'text', delta: 'No', annotation },
      { type: 'item-delta', itemId: 'm', at: 'refusal', delta: 'I cannot.' },
      {
        type: 'item-ended',
        item: {
          ...item,
          parts: [
            { kind: 'text', text: 'No', annotations: [annotation, { type: 'file_citation' }] },
            { kind: 'refusal', text: 'I cannot.' },
          ],
          status: 'completed',
        },
      },
      END,
    ];
    const citation = {
      type: 'web_search_result_location',
      url: 'https://a.b/',
      title: 'A',
      encrypted_index: '',
      cited_text: '',
    };
    expect(await blocksTold(events)).toEqual([
      start(0, { type: 'text', text: '' }),
      delta(0, { type: 'text_delta', text: 'No' }),
      delta(0, { type: 'citations_delta', citation }),
      stop(0),
      start(1, { type: 'text', text: '' }),
      delta(1, { type: 'text_delta', text: 'I cannot.' }),
      stop(1),
    ]);
    expect(await whole(events)).toMatchObject({
      content: [
        { type: 'text', text: 'No', citations: [citation] },
        { type: 'text', text: 'I cannot.' },
      ],
      stop_reason: 'refusal',
    });
  });

  it('leaves out empty texts', async () => {
    const events = [ACCEPTED, ...messageTold('m', ''), END];
    expect(await blocksTold(events)).toEqual([]);
    expect((await whole(events)).content).toEqual([]);
  });
});

describe('reasoning', () => {
  it('is a thinking block, and its signature brings back the item', async () => {
    const events = [ACCEPTED, ...thought(['', 'One.', 'Two.'], { encryptedContent: 'gAAA' }), END];
    const signature = expect.stringMatching(/^cap1\.[\w-]+\.[\w-]{43}$/);
    expect(await blocksTold(events)).toEqual([
      start(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'One.' }),
      delta(0, { type: 'thinking_delta', thinking: '\n\nTwo.' }),
      delta(0, { type: 'signature_delta', signature }),
      stop(0),
    ]);
    const { content } = await whole(events);
    expect(content).toEqual([{ type: 'thinking', thinking: 'One.\n\nTwo.', signature }]);
    const item = {
      kind: 'reasoning',
      id: 'rs_1',
      summary: ['', 'One.', 'Two.'],
      encryptedContent: 'gAAA',
      status: 'completed',
    };
    const block = content[0] as never as JsonObject;
    expect(readReasoning(block, signer)).toEqual(item);
    // A client that changed the text keeps the rest.
    expect(readReasoning({ ...block, thinking: 'One.' }, signer)).toEqual({ ...item, summary: ['One.'] });
    expect(readReasoning({ thinking: 'One.', signature: '' }, signer)).toBe(null);
    expect(readReasoning({ thinking: 'One.', signature: 'EpABforeign' }, signer)).toBe(null);
    expect(readReasoning(block, new TextSigner([new Uint8Array(32).fill(1)]))).toBe(null);
  });

  it('keeps its summary in the signature if the client wants no text', async () => {
    const events = [ACCEPTED, ...thought(['One.']), END];
    const meta = { ...META, thinking: 'omitted' } as const;
    const signature = expect.stringMatching(/^cap1\./);
    expect(await blocksTold(events, meta)).toEqual([
      start(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, { type: 'signature_delta', signature }),
      stop(0),
    ]);
    const { content } = await whole(events, meta);
    expect(content).toEqual([{ type: 'thinking', thinking: '', signature }]);
    expect(readReasoning(content[0] as never, signer)).toMatchObject({ summary: ['One.'] });
  });

  it('is a redacted block without a summary, and none if the client disabled it', async () => {
    const events = [ACCEPTED, ...thought([]), END];
    const { content } = await whole(events);
    expect(content).toEqual([{ type: 'redacted_thinking', data: expect.stringMatching(/^cap1\./) }]);
    expect(await blocksTold(events)).toEqual([start(0, content[0] ?? {}), stop(0)]);
    expect(readReasoning(content[0] as never, signer)).toEqual({
      kind: 'reasoning',
      id: 'rs_1',
      summary: [],
      status: 'completed',
    });
    expect(await blocksTold(events, { ...META, thinking: null })).toEqual([]);
  });
});
