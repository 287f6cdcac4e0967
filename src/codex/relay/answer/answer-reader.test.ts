import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';

import { failure } from '../../../canonical/failure/failure.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import type { UpstreamEvent } from '../../sources/source.ts';
import { AnswerReader } from './answer-reader.ts';
import { streamFailure } from './http-failure.ts';

const signal = new AbortController().signal;
const toFailure = (event: JsonObject) => streamFailure(event, { host: 'x', nowMs: 0, secrets: [] });

/** The events after the start of the answer. */
const read = (...chunks: readonly (string | Uint8Array)[]): UpstreamEvent[] => {
  const signals: UpstreamEvent[] = [];
  const reader = new AnswerReader({
    onUpstreamEvent: (one) => signals.push(one),
    toFailure,
    signal,
    onActivity() {},
    mintCallId: () => 'call_ours',
  });
  reader.begin();
  for (const chunk of chunks) void reader.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  reader.end('cut');
  expect(signals[0]).toEqual({ kind: 'answer-started' });
  return signals.slice(1);
};

const sse = (data: Record<string, unknown>, event: string | null = String(data['type'])): string =>
  `${event === null ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
const said = (data: JsonObject & { readonly type: string }): UpstreamEvent => ({
  kind: 'answer-said',
  type: data.type,
  data,
});
const CUT: UpstreamEvent = { kind: 'answer-ended', how: 'cut' };
const MEGABYTE = Buffer.alloc(1024 * 1024, 'x');
/** More text than is kept. */
const long = (start: string): readonly (string | Uint8Array)[] => [
  start,
  ...Array<Uint8Array>(17).fill(MEGABYTE),
];

describe('reading an answer on its way', () => {
  it('reports what it cannot read', () => {
    const reasons: string[] = [];
    const reader = new AnswerReader({
      onUpstreamEvent() {},
      toFailure,
      signal,
      onActivity() {},
      onUnreadable: (why) => reasons.push(why),
      mintCallId: () => 'call_ours',
    });
    for (const text of [
      'event: response.output_text.delta\ndata: no JSON\n\n',
      'event: response.content_part.added\ndata: not read\n\n',
      'data: no JSON either\n\n',
      'data: [DONE]\n\n',
    ]) {
      void reader.push(Buffer.from(text));
    }
    expect(reasons).toEqual(['no-json', 'no-json']);
  });

  describe('an event beyond a limit', () => {
    const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    const done = (more: string): string =>
      `event: response.output_item.done\ndata: {"item":{"type":"web_search_call","more":${more}}}\n\n`;
    const readLong = async (text: string) => {
      const signals: UpstreamEvent[] = [];
      const reasons: string[] = [];
      const reader = new AnswerReader({
        onUpstreamEvent: (one) => signals.push(one),
        toFailure,
        signal,
        onActivity() {},
        onUnreadable: (why) => reasons.push(why),
        mintCallId: () => 'call_ours',
      });
      await reader.push(Buffer.from(text + sse({ type: 'response.output_text.delta', delta: 'x' })));
      reader.end('cut');
      return { kinds: signals.map((one) => ('how' in one ? one.how : one.kind)), reasons, signals };
    };

    it.each([
      ['a deep event', done(deep(127)), 'too-deep'],
      ['a very deep event', done(deep(100_000)), 'too-deep'],
      ['a wide event', done(`[${'0,'.repeat(2_000_000)}0]`), 'too-wide'],
      [
        'a deep last event',
        `event: response.completed\ndata: {"response":{"id":"r","x":${deep(200)}}}\n\n`,
        'too-deep',
      ],
      ['a deep failure', `event: error\ndata: {"message":"No.","x":${deep(200)}}\n\n`, 'too-deep'],
      ['a long event without a name', `data: {"x":${deep(100_000)},"type":"error"}\n\n`, 'too-deep'],
    ])('ends the answer: %s', async (_, text, why) => {
      const { kinds, reasons, signals } = await readLong(text);
      expect([kinds, reasons]).toEqual([['refused', 'cut'], [why]]);
      expect(signals[0]).toMatchObject({ failure: { kind: 'upstream_error', status: 502 } });
    });

    it('is skipped if it has no content, and accepted if it is the last one and only wide', async () => {
      const progress = `event: response.web_search_call.odd\ndata: {"x":${deep(200)}}\n\n`;
      expect(await readLong(progress)).toMatchObject({
        kinds: ['answer-said', 'cut'],
        reasons: ['too-deep'],
      });
      const wide = `event: response.completed\ndata: {"response":{"id":"r","x":[${'0,'.repeat(2_000_000)}0]}}\n\n`;
      expect(await readLong(wide)).toMatchObject({ kinds: ['completed'], reasons: ['too-wide'] });
    });

    it('is read below the limits, in order, even if long and unnamed', async () => {
      expect((await readLong(done(deep(126)))).kinds).toEqual(['answer-said', 'answer-said', 'cut']);
      const text = 'é'.repeat(100_000);
      const { signals } = await readLong(
        `data: {"delta":${JSON.stringify(text)},"type":"response.output_text.delta"}\n\n`,
      );
      expect(signals).toEqual([
        said({ delta: text, type: 'response.output_text.delta' }),
        said({ type: 'response.output_text.delta', delta: 'x' }),
        CUT,
      ]);
    });
  });

  const item = { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'f', arguments: '' };
  const events = [
    { type: 'response.output_item.added', output_index: 1, item },
    { type: 'response.function_call_arguments.delta', item_id: 'fc_1', delta: '{"ü":' },
    { type: 'response.web_search_call.searching', item_id: 'ws_1' },
    { type: 'response.output_item.done', output_index: 1, item },
  ];
  const wanted = [...events.map(said), CUT];

  it('emits the same events however the bytes are split and the lines end', () => {
    const text = events.map((data) => sse(data)).join('');
    const bytes = Buffer.from(text);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 8 }), (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
        const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
        expect(read(...chunks)).toEqual(wanted);
      }),
    );
    for (const end of ['\r\n', '\r']) {
      const ended = Buffer.from(text.replaceAll('\n', end));
      expect(read(ended)).toEqual(wanted);
      expect(read(...Array.from(ended, (byte) => Uint8Array.of(byte)))).toEqual(wanted);
    }
    const pretty = events.map((data) => JSON.stringify(data, null, 2).replaceAll(/^/gm, 'data: '));
    expect(read(pretty.join('\n\n'))).toEqual(wanted);
    expect(read(events.map((data) => sse(data, null)).join(''))).toEqual(wanted);
    expect(read(events.map((data) => sse(data, 'message')).join(''))).toEqual(wanted);
    // The first `type` in an event need not be its own.
    const last = events.map(({ type, ...rest }) => ({ ...rest, type }));
    expect(read(last.map((data) => sse(data, null)).join(''))).toEqual([...last.map(said), CUT]);
  });

  it.each(['\n', '\r\n'])('replaces an event to be repaired, wherever chunks end: %j', async (line) => {
    const before = ['event: a', 'data: 1', '', ': comment', '', ''].join(line);
    const broken = { type: 'response.output_item.done', item: { ...item, arguments: {} } };
    const repaired = { type: broken.type, item: { ...item, arguments: '{}' } };
    const old = `data: ${JSON.stringify(broken)}${line}${line}`;
    const bytes = Buffer.from(`${before}${old}: é${line}data: open`);
    const expected = `${before}event: ${broken.type}\ndata: ${JSON.stringify(repaired)}\n\n: é${line}data: open`;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 8 }), async (cuts) => {
        const reader = new AnswerReader({
          onUpstreamEvent() {},
          toFailure,
          signal,
          onActivity() {},
          mintCallId: () => 'call_ours',
        });
        const ends = [...cuts.toSorted((a, b) => a - b), bytes.length];
        const passed: Uint8Array[] = [];
        for (const [index, end] of ends.entries())
          passed.push(await reader.push(bytes.subarray(ends[index - 1] ?? 0, end)));
        const all = Buffer.concat([...passed, reader.end('cut')]);
        // A CR at the end of a chunk becomes LF.
        expect(all.toString().replaceAll('\r', '')).toBe(expected.replaceAll('\r', ''));
      }),
    );
  });

  it('skips events that only repeat or are empty', () => {
    const dull = [
      'response.created',
      'response.content_part.added',
      'response.output_text.done',
      'response.tomorrow',
      'keepalive',
    ];
    expect(read(...dull.map((type) => sse({ type })))).toEqual([CUT]);
  });

  it('reports why the answer failed, in every format', () => {
    const failed = { type: 'response.failed', response: { error: { code: 'slow_down', message: 'Busy.' } } };
    const flat = { type: 'error', code: 'rate_limit_exceeded', message: 'Slow.', param: null };
    const nested = { type: 'error', error: { code: 'invalid_prompt', message: 'No.' } };
    expect([failed, flat, nested].map((event) => read(sse(event)))).toEqual([
      [{ kind: 'refused', failure: failure('upstream_overloaded', { message: 'Busy.' }) }, CUT],
      [{ kind: 'refused', failure: failure('rate_limit_exceeded', { message: 'Slow.' }) }, CUT],
      [{ kind: 'refused', failure: failure('invalid_prompt', { message: 'No.' }) }, CUT],
    ]);
  });

  it('survives any input', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 })), (chunks) => {
        expect(read(...chunks)).toEqual([CUT]);
      }),
    );
    const junk = [
      'data: {"type":"response.failed"\n\n',
      'event: response.failed\ndata: []\n\n',
      'event: error\ndata: null\n\n',
      'data:\n\n:\n\nevent:\n\n',
      'event: response.completed\ndata: {"response":7}\n\n',
    ];
    expect(read(...junk)).toEqual([CUT]);
  });
});

describe('an event that is too long', () => {
  const message = 'The upstream sent an event of more than 16 MB.';
  const unread = [{ kind: 'refused', failure: failure('upstream_error', { message }) }, CUT];

  it.each<[string, string]>([
    ['with its name', 'event: response.output_item.done\ndata: {"item":"'],
    ['without one', 'data: {"type":"response.output_text.delta","delta":"'],
    ['that does not say what it is', 'data: {"delta":"'],
  ])('ends the answer if it had content: %s', (_, start) => {
    // Text inside of it that looks like an event does not count, nor does anything after it.
    const inside = `data: ${JSON.stringify({ type: 'error', code: 'invalid_prompt' })}`;
    const behind = sse({ type: 'response.completed', response: { id: 'r' } });
    expect(read(...long(start), inside, '"}\n\n', behind)).toEqual(unread);
  });

  it('is passed on if it has no content or is the last one', () => {
    expect(read(...long('data: {"type":"response.created","response":"'), '"}\n\n')).toEqual([CUT]);
    expect(read(...long(': '), '\n\n')).toEqual([CUT]);
    expect(read(...long('data: {"type":"response.completed","response":"'), '"}\n\n')).toEqual([
      { kind: 'answer-ended', how: 'completed', response: null },
    ]);
  });

  it('reaches the app-server whole, even where previews are left out', async () => {
    const reader = new AnswerReader({
      onUpstreamEvent() {},
      toFailure,
      signal,
      onActivity() {},
      mintCallId: () => 'call_ours',
      withoutPreviews: true,
    });
    const preview = 'response.image_generation_call.partial_image';
    const whole = [...long(`event: ${preview}\ndata: {"partial_image_b64":"`), '"}\n\n'];
    const done = sse({ type: 'response.output_item.done', item: {} });
    const passed: Uint8Array[] = [];
    for (const chunk of [sse({ type: preview }), ...whole, sse({ type: preview }), done])
      passed.push(await reader.push(Buffer.from(chunk as string)));
    const expected = [...whole, done].map((chunk) => Buffer.from(chunk as string));
    expect(Buffer.concat(passed).equals(Buffer.concat(expected))).toBe(true);
  });
});

describe('the end of an answer', () => {
  const completed = (response: Record<string, unknown>): string =>
    sse({ type: 'response.completed', response: { id: 'resp_1', ...response } });
  const endOf = (...chunks: readonly string[]): UpstreamEvent[] =>
    read(...chunks).filter(({ kind }) => kind === 'answer-ended');
  const whole: UpstreamEvent = { kind: 'answer-ended', how: 'completed', response: { id: 'resp_1' } };
  const short: UpstreamEvent = { kind: 'answer-ended', how: 'incomplete', response: { usage: null } };

  it.each<[string, string, UpstreamEvent]>([
    ['completed', completed({}), whole],
    ['completed, whatever is behind it', completed({}) + sse({ type: 'error' }), whole],
    ['completed, although an error was in front', sse({ type: 'error' }) + completed({}), whole],
    // The app-server rejects all of these.
    ['completed without its id', completed({ id: undefined }), CUT],
    ['completed without its empty line', completed({}).trimEnd(), CUT],
    ['completed without its half', completed({}).slice(0, -9), CUT],
    ['failed', sse({ type: 'response.failed', response: {} }), CUT],
    ['error', sse({ type: 'error', message: 'No.' }), CUT],
    ['incomplete', sse({ type: 'response.incomplete', response: { usage: null } }), short],
    ['[DONE]', 'data: [DONE]\n\n', CUT],
    ['text', sse({ type: 'response.output_text.delta' }), CUT],
    ['nothing', '', CUT],
  ])('is reported once: %s', (_, text, event) => {
    expect([endOf(text), endOf(...text.split(/(?<=.)/s))]).toEqual([[event], [event]]);
  });

  it('is known before the connection ends', () => {
    const isOver = (text: string): boolean => {
      const reader = new AnswerReader({
        onUpstreamEvent() {},
        toFailure,
        signal,
        onActivity() {},
        mintCallId: () => 'call_ours',
      });
      void reader.push(Buffer.from(text));
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
});

describe('a sign of life', () => {
  const markers = (...chunks: readonly string[]): number[] => {
    let count = 0;
    const onActivity = (): void => {
      count += 1;
    };
    const reader = new AnswerReader({
      onUpstreamEvent() {},
      toFailure,
      signal,
      onActivity,
      mintCallId: () => 'call_ours',
    });
    return chunks.map((chunk) => {
      count = 0;
      void reader.push(Buffer.from(chunk));
      return count;
    });
  };

  it('is an event or part of a long one, but not a keepalive', () => {
    expect(
      markers(
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
