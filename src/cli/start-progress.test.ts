import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { showStart } from './start-progress.ts';

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
