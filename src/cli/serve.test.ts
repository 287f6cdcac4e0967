import { EventEmitter } from 'node:events';

import { describe, expect, it, afterEach, beforeEach, vi } from 'vitest';

import { createLogger } from '../observe/log.ts';
import { logLines, watchParent, watchSignals, showStart } from './serve.ts';

describe('logLines', () => {
  type Format = Parameters<typeof logLines>[1];

  const written = (format: Format, isTerminal: boolean, environment: Record<string, string> = {}): string => {
    let text = '';
    const sink = { write: (line: string) => void (text += line) };
    createLogger({
      level: 'info',
      destination: logLines(sink, format, { environment }, isTerminal),
    }).info('starting');
    return text.replace(/^\[[\d:]+\]/, 'TIME').replace(/"time":"[^"]*"/, '"time":"TIME"');
  };

  const JSON_LINE = '{"level":"info","time":"TIME","msg":"starting"}\n';
  const PLAIN = 'TIME INFO: starting\n';
  const COLOURED = 'TIME \u001b[32mINFO\u001b[39m: \u001b[36mstarting\u001b[39m\n';

  it.each<readonly [Format, boolean, Record<string, string>, string]>([
    ['auto', true, {}, COLOURED],
    ['auto', true, { NO_COLOR: '1' }, PLAIN],
    ['auto', true, { NO_COLOR: '' }, COLOURED],
    ['auto', false, {}, JSON_LINE],
    ['pretty', false, {}, PLAIN],
    ['json', true, {}, JSON_LINE],
  ])('format %s, terminal %j, environment %j', (format, isTerminal, environment, expected) => {
    expect(written(format, isTerminal, environment)).toBe(expected);
  });
});

describe('watchParent', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const watch = (environment: Record<string, string>) => {
    let parent = 7;
    const onEnded = vi.fn<() => void>();
    const stop = watchParent({ environment, parentId: () => parent, onEnded });
    return {
      onEnded,
      stop,
      endParent() {
        parent = 1;
        vi.advanceTimersByTime(10_000);
      },
    };
  };

  it('reports once that the shell of npm has ended', () => {
    const { onEnded, endParent } = watch({ npm_lifecycle_event: 'start' });
    vi.advanceTimersByTime(10_000);
    expect(onEnded).not.toHaveBeenCalled();
    endParent();
    expect(onEnded).toHaveBeenCalledOnce();
  });

  it('stops watching', () => {
    const { onEnded, endParent, stop } = watch({ npm_lifecycle_event: 'start' });
    stop();
    endParent();
    expect(onEnded).not.toHaveBeenCalled();
  });

  it('does not end a server that was started without npm and outlives its shell', () => {
    const { onEnded, endParent } = watch({});
    endParent();
    expect(onEnded).not.toHaveBeenCalled();
  });
});

describe('watchSignals', () => {
  const settled = (promise: Promise<string>): Promise<string> =>
    Promise.race([promise, Promise.resolve('-')]);

  it('distinguishes the first signal, its echo, and the second', async () => {
    const source = new EventEmitter();
    let now = 1_000;
    const { first, second } = watchSignals(source as unknown as NodeJS.Process, () => now);
    source.emit('SIGINT', 'SIGINT');
    now += 50;
    source.emit('SIGINT', 'SIGINT');
    expect([await settled(first), await settled(second)]).toEqual(['SIGINT', '-']);
    now += 1_000;
    source.emit('SIGTERM', 'SIGTERM');
    expect([await first, await second]).toEqual(['SIGINT', 'SIGTERM']);
  });
});

describe('showStart', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('names the backend at once, and what a long start waits for', () => {
    const said: string[] = [];
    const progress = showStart({ environment: {}, say: (text) => void said.push(text) });
    vi.advanceTimersByTime(4_000);
    progress.onStarting({ kind: 'upstream', baseUrl: 'https://x.example/v1' });
    vi.advanceTimersByTime(20_000);
    progress.end();
    progress.onStarting({ kind: 'demo' });
    vi.advanceTimersByTime(60_000);
    expect(said).toEqual([
      'waiting for the database and the folders of codex … 3.0 s\n',
      'starting codex app-server for its backend: the provider x.example …\n',
      'still waiting for codex app-server to start and to list the models … 3.0 s\n',
      'still waiting for codex app-server to start and to list the models … 18.0 s\n',
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
