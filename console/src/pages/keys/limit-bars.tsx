import { api } from '../../api/client.ts';
import { useResource } from '../../api/use-resource.ts';
import { Meter } from '../../components/meter.tsx';
import { ErrorNote } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { compact, whole } from '../../format/numbers.ts';
import type { Key, KeyLimit, LimitStatus } from './key-types.ts';

const EVERY_MS = 10_000;

const SPAN = { minute: 'a minute', '5h': '5 hours', day: 'a day', '7d': '7 days', month: 'a month' };

const nameOf = ({ unit, window, model }: KeyLimit): string =>
  `${unit} in ${SPAN[window]}${model === null ? '' : ` (${model})`}`;

const amount = ({ unit }: KeyLimit, value: number): string =>
  unit === 'cost' ? String(value) : value < 100_000 ? whole(value) : compact(value);

interface LimitBarsProps {
  readonly of: Key;
  /** Another number loads them again. */
  readonly round?: number;
}

/** The limits of a key, with what it has used of them. */
export const LimitBars = ({ of: { id, limits }, round = 0 }: LimitBarsProps) => {
  if (limits.length === 0) return <span class="hint">none</span>;
  return <Bars id={id} limits={limits} round={round} />;
};

const Bars = ({ id, limits, round }: Pick<Key, 'id' | 'limits'> & { readonly round: number }) => {
  const { data, error } = useResource(
    `limits of ${id}, ${JSON.stringify(limits)}, ${round}`,
    (signal) =>
      api.get<{ readonly data: readonly LimitStatus[] }>(
        `/v1/codex/keys/${encodeURIComponent(id)}/limits`,
        signal,
      ),
    { everyMs: EVERY_MS },
  );
  const known: readonly (KeyLimit & Partial<LimitStatus>)[] = data?.data ?? limits;
  return (
    <>
      <ul class="limit-bars">
        {known.map((limit) => (
          <li key={nameOf(limit)}>
            <p>
              {limit.used === undefined ? '' : `${amount(limit, limit.used)} of `}
              {amount(limit, limit.max)} {nameOf(limit)}
              {limit.resets_at == null ? null : (
                <span class="hint">
                  {' '}
                  · resets <Time at={limit.resets_at} />
                </span>
              )}
            </p>
            {limit.used === undefined ? null : <Meter label={nameOf(limit)} share={limit.used / limit.max} />}
          </li>
        ))}
      </ul>
      {error === null ? null : <ErrorNote error={error} />}
    </>
  );
};
