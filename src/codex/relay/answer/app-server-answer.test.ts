import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';

import { describe, expect, it } from 'vitest';

import { AppServerAnswer, type AfterAnswer } from './app-server-answer.ts';

/** An answer of one turn, and what the app-server gets of it. */
const answering = (holdsAnswers: boolean) => {
  const sent: unknown[] = [];
  const passed: number[] = [];
  const said = (bytes: Uint8Array | string): string =>
    typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString();
  const response = Object.assign(new EventEmitter(), {
    writeHead(status: number, headers: object) {
      sent.push([status, headers]);
      return response;
    },
    write(bytes: Uint8Array) {
      sent.push(said(bytes));
      return bytes.length < 100;
    },
    end: (bytes?: Uint8Array | string) => sent.push(...(bytes === undefined ? [] : [said(bytes)]), 'end'),
    destroy: () => sent.push('destroyed'),
    socket: { destroySoon: () => sent.push('destroyed soon') },
  });
  const turn = {
    holdsAnswers,
    after: null as AfterAnswer | null,
    passed: (bytes: number) => void passed.push(bytes),
  };
  const answer = new AppServerAnswer(response as unknown as ServerResponse, turn);
  return { answer, turn, sent, passed };
};
const bytes = (text: string): Uint8Array => Buffer.from(text);
const STATE = { 'x-codex-turn-state': 'of-this-answer', 'content-encoding': 'br', 'x-ratelimit': '7' };
const stub = (more: string): string => {
  const body =
    'event: response.created\ndata: {"type":"response.created","response":{"id":"resp_carried"}}\n\n' +
    'event: response.completed\ndata: {"type":"response.completed","response":{"id":"resp_carried","output":[],' +
    `"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}${more}}}\n\n`;
  return body;
};
const skipped = (more: string): readonly unknown[] => [
  [200, { 'x-ratelimit': '7', 'content-type': 'text/event-stream', 'content-length': stub(more).length }],
  stub(more),
  'end',
];

describe('an answer that is not held back', () => {
  it('is sent as it comes', () => {
    const { answer, sent, passed } = answering(false);
    answer.begin(200, STATE);
    expect([answer.write(bytes('one')), answer.write(bytes('2'.repeat(100)))]).toEqual([true, false]);
    answer.end(bytes('end'));
    expect(sent).toEqual([[200, STATE], 'one', '2'.repeat(100), 'end', 'end']);
    expect(passed.reduce((sum, size) => sum + size)).toBe(106);
  });

  it('is sent even if its turn needs nothing more: the app-server knows its beginning', () => {
    const { answer, turn, sent } = answering(false);
    answer.begin(200, {});
    turn.after = 'asks-again';
    answer.write(bytes('one'));
    answer.end(bytes(''));
    expect(sent).toEqual([[200, {}], 'one', 'end']);
  });
});

describe('an answer that is held back', () => {
  it.each([
    ['asks-again', ',"end_turn":false'],
    ['completes', ''],
  ] as const)('is never seen if its turn needs nothing more: the app-server %s', (after, more) => {
    const { answer, turn, sent, passed } = answering(true);
    answer.begin(200, STATE);
    answer.write(bytes('one'));
    turn.after = after;
    expect([answer.pass(), answer.write(bytes('late'))]).toEqual([true, true]);
    answer.end(bytes('later'));
    expect(sent).toEqual(skipped(more));
    expect(passed).toEqual([]);
  });

  it('is sent whole if its turn goes on', () => {
    const { answer, turn, sent, passed } = answering(true);
    answer.begin(200, STATE);
    answer.write(bytes('one'));
    expect(sent).toEqual([]);
    answer.pass();
    // Too late: the app-server acts on it.
    turn.after = 'asks-again';
    answer.end(bytes('two'));
    expect(sent).toEqual([[200, STATE], 'one', 'two', 'end']);
    expect(passed.reduce((sum, size) => sum + size)).toBe(6);
  });

  it('is sent if it becomes long', () => {
    const { answer, sent } = answering(true);
    answer.begin(200, {});
    const mebibyte = 'x'.repeat(1024 * 1024);
    expect([answer.write(bytes(mebibyte)), sent]).toEqual([true, []]);
    expect(answer.write(bytes('y'))).toBe(true);
    expect(sent).toEqual([[200, {}], mebibyte, 'y']);
  });

  it.each<[string, (answer: AppServerAnswer) => void]>([
    ['becomes long with its last bytes', (answer) => void answer.write(bytes('x'.repeat(1024 * 1024)))],
    ['is not an event stream', (answer) => void answer.pass()],
  ])('is never seen if its turn needs nothing more, and %s', (_, goesOn) => {
    const { answer, turn, sent, passed } = answering(true);
    answer.begin(200, STATE);
    answer.write(bytes('one'));
    turn.after = 'asks-again';
    goesOn(answer);
    answer.end(bytes('end'));
    expect([sent, passed]).toEqual([skipped(',"end_turn":false'), []]);
  });

  it('keeps nothing else of the chunks that its events were in', () => {
    const { answer, sent } = answering(true);
    const chunk = Buffer.from('one of many');
    answer.write(chunk.subarray(0, 3));
    // What is held does not share the memory of the chunk.
    chunk.fill('x');
    answer.pass();
    expect(sent).toEqual(['one']);
  });

  it('waits for a slow app-server after what was held back', () => {
    const { answer } = answering(true);
    answer.begin(200, {});
    answer.write(bytes('2'.repeat(100)));
    expect(answer.pass()).toBe(false);
  });

  it.each<[string, (answer: AppServerAnswer) => void, readonly unknown[]]>([
    ['broken off', (answer) => answer.breakOff(bytes('!')), [[200, STATE], 'one', '!', 'destroyed soon']],
    ['abandoned', (answer) => answer.abandon(), ['destroyed']],
    ['over', (answer) => answer.end(bytes('')), [[200, STATE], 'one', 'end']],
  ])('is %s like another one, unless its turn needs nothing more', (_, over, expected) => {
    const goesOn = answering(true);
    const isOver = answering(true);
    for (const { answer } of [goesOn, isOver]) {
      answer.begin(200, STATE);
      answer.write(bytes('one'));
    }
    isOver.turn.after = 'asks-again';
    over(goesOn.answer);
    over(isOver.answer);
    expect(goesOn.sent).toEqual(expected);
    expect(goesOn.passed).not.toEqual([]);
    expect(isOver.sent).toEqual(skipped(',"end_turn":false'));
  });

  it('is replaced by an error, unless its turn needs nothing more', () => {
    const goesOn = answering(true);
    goesOn.answer.refuse(401, STATE, 'Sign in.');
    expect(goesOn.sent).toEqual([[401, STATE], 'Sign in.', 'end']);
    expect(goesOn.passed).toEqual([0]);
    const isOver = answering(true);
    isOver.turn.after = 'completes';
    isOver.answer.refuse(401, STATE, 'Sign in.');
    expect(isOver.sent).toEqual([
      [200, { 'content-type': 'text/event-stream', 'content-length': stub('').length }],
      stub(''),
      'end',
    ]);
  });

  it('ends once', () => {
    const { answer, turn, sent } = answering(true);
    turn.after = 'asks-again';
    answer.abandon();
    const { length } = sent;
    answer.end(bytes('more'));
    answer.breakOff(bytes('more'));
    answer.abandon();
    answer.refuse(500, {}, 'Late.');
    expect(sent).toHaveLength(length);
  });
});
