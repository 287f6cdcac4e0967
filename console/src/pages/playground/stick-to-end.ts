import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** Within this distance a person reads the end. */
const NEAR_PX = 48;

/** Keeps a scrolling element at its end while it grows, unless a person has scrolled up. */
export const useStickToEnd = (
  changes: unknown,
): { readonly ref: RefObject<HTMLDivElement | null>; readonly onScroll: () => void } => {
  const ref = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    const element = ref.current;
    if (element !== null && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [changes]);
  const onScroll = (): void => {
    const element = ref.current;
    if (element === null) return;
    isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
  };
  return { ref, onScroll };
};
