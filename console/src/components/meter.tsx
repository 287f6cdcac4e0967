import { percent } from '../format/numbers.ts';

interface MeterProps {
  readonly label: string;
  /** Between 0 and 1. */
  readonly share: number;
}

const toneOf = (share: number): string => (share >= 0.9 ? 'bad' : share >= 0.7 ? 'warn' : 'good');

/** How much of a limit is used. */
export const Meter = ({ label, share }: MeterProps) => {
  const shown = Math.min(1, Math.max(0, share));
  return (
    <div
      class={`meter meter-${toneOf(shown)}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(shown * 100)}
      aria-valuetext={percent(shown)}
    >
      <span style={{ inlineSize: `${shown * 100}%` }} />
    </div>
  );
};
