import type { ComponentChildren } from 'preact';

export type Tone = 'bad' | 'good' | 'info' | 'neutral' | 'warn';

/** A short status. The text carries the meaning, the colour only repeats it. */
export const Badge = ({
  tone = 'neutral',
  children,
}: {
  readonly tone?: Tone;
  readonly children: ComponentChildren;
}) => <span class={`badge badge-${tone}`}>{children}</span>;
