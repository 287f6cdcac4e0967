import { api } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import { Badge } from './badge.tsx';
import { Card } from './card.tsx';
import { Meter } from './meter.tsx';
import { Empty, Loaded } from './states.tsx';
import { Time } from './time.tsx';
import './limits-card.css';
import { limitRows, type LimitRow, type LimitsAnswer } from './limit-rows.ts';

const EVERY_MS = 30_000;

/** How much of the account's limits is used, and when they reset. */
export const LimitsCard = () => {
  const limits = useResource('limits', (signal) => api.get<LimitsAnswer>('/v1/codex/rate-limits', signal), {
    everyMs: EVERY_MS,
  });
  const isBlocked = limits.data?.allowed === false;
  return (
    <Card title="Limits of the account" aside={isBlocked ? <Badge tone="bad">reached</Badge> : null}>
      <Loaded of={limits}>
        {(answer) => {
          const rows = limitRows(answer);
          return rows.length === 0 ? (
            <Empty>This backend reports no limits.</Empty>
          ) : (
            <ul class="limits">
              {rows.map((row) => (
                <Limit key={row.label} row={row} />
              ))}
            </ul>
          );
        }}
      </Loaded>
    </Card>
  );
};

const Limit = ({ row: { label, usedPercent, resetsAt } }: { readonly row: LimitRow }) => (
  <li>
    <div class="limit-line">
      <span>{label}</span>
      <span class="hint">{Math.round(usedPercent)}% used</span>
    </div>
    <Meter label={label} share={usedPercent / 100} />
    {resetsAt === null ? null : (
      <p class="hint">
        Resets <Time at={resetsAt} />
      </p>
    )}
  </li>
);
