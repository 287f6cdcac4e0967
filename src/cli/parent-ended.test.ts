import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { watchParent } from './parent-ended.ts';

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
