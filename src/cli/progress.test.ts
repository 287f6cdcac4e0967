import { EventEmitter } from 'node:events';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { createProgressLine } from './progress.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const open = (isTTY: boolean, environment: Readonly<Record<string, string>> = {}) => {
  const written: string[] = [];
  const signals = Object.assign(new EventEmitter(), {
    pid: 7,
    killed: [] as unknown[],
    kill: (pid: number, signal: string) => signals.killed.push([pid, signal]) > 0,
  });
  const write = (text: string) => void written.push(text.replaceAll('\r\u001B[2K', '<erase>'));
  const line = createProgressLine({
    stream: { isTTY, columns: 24, write },
    environment,
    signals: signals as unknown as NodeJS.Process,
  });
  return { line, write, written, signals };
};

describe('on a terminal', () => {
  it('draws one line in place, with a duration after some seconds, and removes it', () => {
    const { line, written } = open(true);
    const progress = line.start('checking codex');
    progress.show('checking\u001B[2J a very long name');
    vi.advanceTimersByTime(4_000);
    progress.end();
    progress.end();
    expect(written).toEqual([
      '<erase>checking codex …',
      '<erase>checking [2J a very lo…',
      '<erase>checking [2J a very lo…',
      '<erase>checking [2J a very lo…',
      '<erase>checking [2J a v… 3.0 s',
      '<erase>checking [2J a v… 4.0 s',
      '<erase>',
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is removed while other text is written, and drawn again below whole lines only', () => {
    const { line, write, written } = open(true);
    const progress = line.start('one');
    line.besides(write)('a line\n');
    line.besides(write)('a question ');
    progress.end();
    line.besides(write)('later\n');
    expect(written).toEqual([
      '<erase>one …',
      '<erase>',
      'a line\n',
      '<erase>one …',
      '<erase>',
      'a question ',
      'later\n',
    ]);
  });

  it('shows the newest of several tasks', () => {
    const { line, written } = open(true);
    const [one, two] = [line.start('one'), line.start('two')];
    two.end();
    one.end();
    expect(written).toEqual(['<erase>one …', '<erase>two …', '<erase>', '<erase>one …', '<erase>']);
  });

  it('is removed before a signal ends the process', () => {
    const { line, written, signals } = open(true);
    line.start('one');
    signals.emit('SIGINT', 'SIGINT');
    expect([written, signals.killed, signals.eventNames()]).toEqual([
      ['<erase>one …', '<erase>'],
      [[7, 'SIGINT']],
      [],
    ]);
  });
});

describe.each([
  ['in a file or pipe', false, {}],
  ['on a dumb terminal', true, { TERM: 'dumb' }],
])('%s', (_, isTTY, environment) => {
  it('writes whole lines about long work only, and repeats them', () => {
    const { line, write, written, signals } = open(isTTY, environment);
    line.start('short').end();
    const progress = line.start('long');
    vi.advanceTimersByTime(4_000);
    progress.show('longer');
    line.besides(write)('a line\n');
    vi.advanceTimersByTime(15_000);
    progress.end();
    expect(written).toEqual(['long … 3.0 s\n', 'a line\n', 'longer … 18.0 s\n']);
    expect([vi.getTimerCount(), signals.eventNames()]).toEqual([0, []]);
  });
});
