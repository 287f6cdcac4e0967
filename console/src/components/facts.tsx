import type { ComponentChildren } from 'preact';

interface FactsProps {
  readonly rows: readonly (readonly [name: string, value: ComponentChildren])[];
}

/** Names and values, such as the facts of a request. */
export const Facts = ({ rows }: FactsProps) => (
  <dl class="facts">
    {rows.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);
