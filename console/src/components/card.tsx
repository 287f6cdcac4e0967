import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface CardProps {
  readonly title: string;
  readonly children: ComponentChildren;
  /** Shown at the right of the title, such as a button or a badge. */
  readonly aside?: ComponentChildren;
  /** Takes the whole width of a grid. */
  readonly isWide?: boolean;
}

/** A titled part of a page. */
export const Card = ({ title, children, aside, isWide = false }: CardProps) => {
  const id = useId();
  return (
    <section class={isWide ? 'card card-wide' : 'card'} aria-labelledby={id}>
      <header class="card-head">
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
};

/** Cards next to each other where there is room. */
export const CardGrid = ({ children }: { readonly children: ComponentChildren }) => (
  <div class="grid">{children}</div>
);
