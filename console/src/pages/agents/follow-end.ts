import type { RefObject } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Within this distance a person reads the end. */
const NEAR_PX = 32;

const page = (): Element => document.scrollingElement ?? document.documentElement;

const isNearEnd = ({ scrollHeight, scrollTop, clientHeight }: Element): boolean =>
  scrollHeight - scrollTop - clientHeight < NEAR_PX;

/** Keeps the page at its end while it grows, unless a person has scrolled up. */
export const useFollowPage = (changes: readonly unknown[], isAtEndFirst: boolean) => {
  const follows = useRef(isAtEndFirst);
  const [isAtEnd, setIsAtEnd] = useState(true);
  useEffect(() => {
    let top = page().scrollTop;
    const scrolled = (): void => {
      const isNear = isNearEnd(page());
      // The page may have grown since it was scrolled to its end: only a person scrolls up.
      if (isNear || page().scrollTop < top) follows.current = isNear;
      top = page().scrollTop;
      setIsAtEnd(isNear);
    };
    window.addEventListener('scroll', scrolled, { passive: true });
    const timer = window.setTimeout(() => {
      const isNear = isNearEnd(page());
      // A short page is followed from the start.
      follows.current ||= isNear;
      setIsAtEnd(isNear);
    }, 0);
    return () => {
      window.removeEventListener('scroll', scrolled);
      window.clearTimeout(timer);
    };
  }, []);
  const toEnd = useCallback(() => {
    follows.current = true;
    page().scrollTop = page().scrollHeight;
  }, []);
  useLayoutEffect(() => {
    if (follows.current) toEnd();
  }, [...changes, toEnd]);
  return { isAtEnd, toEnd };
};

/** The same for an element that scrolls on its own. */
export const useFollowElement = (
  changes: unknown,
  isAtEndFirst: boolean,
): RefObject<HTMLPreElement | null> => {
  const ref = useRef<HTMLPreElement>(null);
  const follows = useRef(isAtEndFirst);
  useLayoutEffect(() => {
    if (follows.current && ref.current !== null) ref.current.scrollTop = ref.current.scrollHeight;
  }, [changes]);
  useLayoutEffect(() => {
    const element = ref.current;
    let top = element?.scrollTop ?? 0;
    const scrolled = (): void => {
      if (element === null) return;
      const isNear = isNearEnd(element);
      if (isNear || element.scrollTop < top) follows.current = isNear;
      top = element.scrollTop;
    };
    element?.addEventListener('scroll', scrolled, { passive: true });
    return () => element?.removeEventListener('scroll', scrolled);
  }, []);
  return ref;
};
