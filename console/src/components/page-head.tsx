import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

interface PageHeadProps {
  readonly title: string;
  readonly children?: ComponentChildren;
}

/** The title of a page, and its actions. Screen readers start here after a navigation. */
export const PageHead = ({ title, children }: PageHeadProps) => {
  const ref = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    document.title = `${title} · codex-app-server-proxy`;
    ref.current?.focus({ preventScroll: true });
  }, [title]);
  return (
    <header class="page-head">
      <h1 ref={ref} tabIndex={-1}>
        {title}
      </h1>
      {children}
    </header>
  );
};
