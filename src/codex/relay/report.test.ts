import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';

import { failure } from '../../canonical/failure.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { WireEvent } from '../translate/wire-report.ts';
import { streamFailure } from './http-failure.ts';
import { AnswerReader, noFindings, type Findings } from './report.ts';

const toFailure = (event: JsonObject) => streamFailure(event, { host: 'x', nowMs: 0, secrets: [] });
const readerOf = (findings: Findings, onEvent: (event: WireEvent) => void = () => {}): AnswerReader =>
  new AnswerReader({ findings, onEvent, toFailure, onLife() {} });
/** What it says between the answer's begin and its end. */
const read = (...chunks: readonly (string | Uint8Array)[]): { findings: Findings; events: WireEvent[] } => {
  const findings = noFindings();
  const events: WireEvent[] = [];
  const reader = readerOf(findings, (event) => events.push(event));
  reader.begin();
  for (const chunk of chunks) reader.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  reader.end();
  return { findings, events: events.slice(1, -1) };
};

const sse = (data: Record<string, unknown>, event: string | null = String(data['type'])): string =>
  `${event === null ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;

const added = {
  type: 'response.output_item.added',
  output_index: 1,
  item: { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'f', arguments: '' },
};
const delta = { type: 'response.function_call_arguments.delta', item_id: 'fc_1', delta: '{"ü":' };
const done = { type: 'response.function_call_arguments.done', item_id: 'fc_1', arguments: '{"ü":1}' };
const call: readonly WireEvent[] = [
  { kind: 'call-started', outputIndex: 1, itemId: 'fc_1', callId: 'c1', name: 'f' },
  { kind: 'call-delta', itemId: 'fc_1', delta: '{"ü":' },
  { kind: 'call-written', itemId: 'fc_1' },
];

describe('reading an answer on its way', () => {
  it('sees calls, however the bytes are cut and the lines end', () => {
    const text = [added, delta, done].map((data) => sse(data)).join('');
    const bytes = Buffer.from(text);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 8 }), (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
        const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
        expect(read(...chunks).events).toEqual(call);
      }),
    );
    for (const end of ['\r\n', '\r']) {
      const ended = Buffer.from(text.replaceAll('\n', end));
      expect(read(ended).events).toEqual(call);
      expect(read(...Array.from(ended, (byte) => Uint8Array.of(byte))).events).toEqual(call);
    }
    const pretty = [added, delta, done].map((data) =>
      JSON.stringify(data, null, 2).replaceAll(/^/gm, 'data: '),
    );
    expect(read(pretty.join('\n\n')).events).toEqual(call);
    expect(read([added, delta, done].map((data) => sse(data, null)).join('')).events).toEqual(call);
    expect(read([added, delta, done].map((data) => sse(data, 'message')).join('')).events).toEqual(call);
  });

  it('lets a call wait whose place is not said, and sees no other items', () => {
    const { output_index: _, ...placeless } = added;
    const message = { type: 'response.output_item.added', output_index: 0, item: { type: 'message' } };
    expect(read(sse(placeless), sse(message)).events).toEqual([{ ...call[0], outputIndex: Infinity }]);
  });

  it('collects refusals by item, from deltas or from the end alone', () => {
    const { findings } = read(
      sse({ type: 'response.refusal.delta', item_id: 'm1', delta: 'I ' }),
      sse({ type: 'response.refusal.delta', item_id: 'm1', delta: 'will not.' }),
      sse({ type: 'response.refusal.done', item_id: 'm2', refusal: 'Nor this.' }),
    );
    expect(findings).toEqual({
      ...noFindings(),
      refusals: new Map([
        ['m1', 'I will not.'],
        ['m2', 'Nor this.'],
      ]),
    });
  });

  it('finds how an answer ended and what it cost', () => {
    const usage = {
      input_tokens: 5,
      input_tokens_details: { cached_tokens: 3, cache_write_tokens: 1 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 12,
    };
    const incomplete = {
      type: 'response.incomplete',
      response: { incomplete_details: { reason: 'content_filter' }, usage },
    };
    expect(read(sse(incomplete)).findings).toEqual({
      ...noFindings(),
      incomplete: 'content_filter',
      usage: {
        inputTokens: 5,
        cachedInputTokens: 3,
        cacheWriteInputTokens: 1,
        outputTokens: 7,
        reasoningTokens: 2,
        totalTokens: 12,
      },
    });
    const odd = { type: 'response.incomplete', response: { incomplete_details: { reason: 'moon' } } };
    expect(read(sse(odd)).findings).toEqual(noFindings());
    const failed = { type: 'response.failed', response: { error: { code: 'slow_down', message: 'Busy.' } } };
    expect(read(sse(failed)).findings.failure).toEqual(failure('upstream_overloaded', { message: 'Busy.' }));
    const flat = { type: 'error', code: 'rate_limit_exceeded', message: 'Slow.', param: null };
    expect(read(sse(flat)).findings.failure).toEqual(failure('rate_limit_exceeded', { message: 'Slow.' }));
    const nested = { type: 'error', error: { code: 'invalid_prompt', message: 'No.' } };
    expect(read(sse(nested)).findings.failure).toEqual(failure('invalid_prompt', { message: 'No.' }));
  });

  it('forgets the answer before it', () => {
    const findings = noFindings();
    const first = readerOf(findings);
    first.push(Buffer.from(sse({ type: 'error', code: 'invalid_prompt', message: 'No.' })));
    expect(findings.failure).not.toBeNull();
    readerOf(findings).begin();
    expect(findings).toEqual(noFindings());
  });

  it('survives anything', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 })), (chunks) => {
        expect(read(...chunks).findings).toEqual(noFindings());
      }),
    );
    const junk = [
      'data: {"type":"response.failed"\n\n',
      'event: response.failed\ndata: []\n\n',
      'event: error\ndata: null\n\n',
      'event: response.output_item.added\ndata: {"item":7}\n\n',
      'data:\n\n:\n\nevent:\n\n',
      'event: response.incomplete\ndata: {"response":{"usage":7,"incomplete_details":[]}}\n\n',
    ];
    expect(read(...junk).findings).toEqual(noFindings());
  });

  it('does not keep a line that is too long, and reads on behind it', () => {
    const megabyte = Buffer.alloc(1024 * 1024, 'x');
    const long = [Buffer.from('data: {"type":"error","message":"'), ...Array(20).fill(megabyte)];
    // What looks like an event inside of it is not one.
    const inside = [`data: ${JSON.stringify({ type: 'error', code: 'invalid_prompt' })}`, '"}\n\n'];
    const { findings, events } = read(...long, ...inside, sse(added));
    expect({ findings, events }).toEqual({ findings: noFindings(), events: [call[0]] });
  });
});

describe('the end of an answer', () => {
  const endOf = (...chunks: readonly string[]): WireEvent[] => {
    const events: WireEvent[] = [];
    const reader = readerOf(noFindings(), (event) => events.push(event));
    for (const chunk of chunks) reader.push(Buffer.from(chunk));
    reader.end();
    return events.filter(({ kind }) => kind === 'answer-ended');
  };
  const completed = (response: Record<string, unknown>): string =>
    sse({ type: 'response.completed', response: { id: 'resp_1', ...response } });
  const whole: WireEvent = { kind: 'answer-ended', how: 'completed', unstreamed: [] };

  it.each<[string, string, WireEvent]>([
    ['completed', completed({}), whole],
    ['completed, whatever is behind it', completed({}) + sse({ type: 'error' }), whole],
    ['completed, although an error was in front', sse({ type: 'error' }) + completed({}), whole],
    // The app-server takes none of these.
    ['completed without its id', completed({ id: undefined }), { kind: 'answer-ended', how: 'cut' }],
    ['completed without its empty line', completed({}).trimEnd(), { kind: 'answer-ended', how: 'cut' }],
    ['completed without its half', completed({}).slice(0, -9), { kind: 'answer-ended', how: 'cut' }],
    ['failed', sse({ type: 'response.failed', response: {} }), { kind: 'answer-ended', how: 'failed' }],
    ['error', sse({ type: 'error', message: 'No.' }), { kind: 'answer-ended', how: 'failed' }],
    [
      'incomplete',
      sse({ type: 'response.incomplete', response: {} }),
      { kind: 'answer-ended', how: 'incomplete' },
    ],
    ['[DONE]', 'data: [DONE]\n\n', { kind: 'answer-ended', how: 'cut' }],
    ['text', sse({ type: 'response.output_text.delta' }), { kind: 'answer-ended', how: 'cut' }],
    ['nothing', '', { kind: 'answer-ended', how: 'cut' }],
  ])('is told once: %s', (_, text, event) => {
    expect([endOf(text), endOf(...text.split(/(?<=.)/s))]).toEqual([[event], [event]]);
  });

  it('is known before it comes', () => {
    const isOver = (text: string): boolean => {
      const reader = readerOf(noFindings());
      reader.push(Buffer.from(text));
      return reader.isOver;
    };
    const last = ['response.failed', 'response.incomplete', 'error'].map((type) => sse({ type }));
    expect([completed({}), 'data: [DONE]\n\n', ...last].map(isOver)).toEqual([true, true, true, true, true]);
    expect(['', sse({ type: 'response.created' }), 'data: [DONE\n\n'].map(isOver)).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('brings what was not streamed', () => {
    const message = { type: 'message', id: 'm', role: 'assistant', content: [] };
    const late = { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'f', arguments: '{}' };
    const streamed = sse({ type: 'response.output_item.done', output_index: 0, item: message });
    expect(endOf(streamed, completed({ output: [message, late, { type: 'odd' }] }))).toEqual([
      { kind: 'answer-ended', how: 'completed', unstreamed: [late] },
    ]);
    const refused = { ...message, content: [{ type: 'refusal', refusal: 'No.' }] };
    const { findings } = read(completed({ output: [refused] }));
    expect(findings.refusals).toEqual(new Map([['m', 'No.']]));
    expect(endOf(completed({ output: [refused] }))).toEqual([whole]);
  });

  it('of an answer that is too long to be read is what its name says', () => {
    const long = completed({ output: ['x'.repeat(17 * 1024 * 1024)] });
    const half = Math.ceil(long.length / 2);
    expect(endOf(long.slice(0, half), long.slice(half))).toEqual([whole]);
  });
});

describe('a sign of life', () => {
  const signs = (...chunks: readonly string[]): number[] => {
    let count = 0;
    const onLife = (): void => {
      count += 1;
    };
    const reader = new AnswerReader({ findings: noFindings(), onEvent() {}, toFailure, onLife });
    return chunks.map((chunk) => {
      count = 0;
      reader.push(Buffer.from(chunk));
      return count;
    });
  };

  it('is an event, or a long one on its way, and no keepalive', () => {
    expect(
      signs(
        ': comment\n\n',
        sse({ type: 'response.output_text.delta' }),
        sse({ type: 'keepalive' }),
        sse({ type: 'ping' }, null),
        'data: {"type":"x","text":"',
        'x'.repeat(2_000),
        'x',
        '"}\n\n',
        ': comment\n\n',
      ),
    ).toEqual([0, 1, 0, 0, 0, 1, 1, 1, 0]);
  });
});
