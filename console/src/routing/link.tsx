import type { ComponentChildren } from 'preact';

import { hrefOf, navigate } from './location.ts';

interface LinkProps {
  /** A path of the console, such as `/requests/req_1`. */
  readonly to: string;
  readonly children: ComponentChildren;
  readonly class?: string;
  /** Marks the page that is open in a navigation. */
  readonly isCurrent?: boolean;
  readonly onOpen?: () => void;
}

/** A link within the console. The browser handles clicks that open a new tab or window. */
export const Link = ({ to, children, class: className, isCurrent = false, onOpen }: LinkProps) => (
  <a
    href={hrefOf(to)}
    {...(className === undefined ? {} : { class: className })}
    {...(isCurrent ? { 'aria-current': 'page' as const } : {})}
    onClick={(event) => {
      const isPlain =
        event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
      if (!isPlain) return;
      event.preventDefault();
      navigate(to);
      onOpen?.();
    }}
  >
    {children}
  </a>
);
