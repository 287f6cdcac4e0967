import { useMemo, useState } from 'preact/hooks';

import { api } from '../../api/client.ts';
import { useResource } from '../../api/use-resource.ts';
import { Card } from '../../components/card.tsx';
import { Chart, type Series } from '../../components/chart.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { compact, percent, whole } from '../../format/numbers.ts';
import { dateTime } from '../../format/times.ts';
import {
  cacheHitRate,
  RANGES,
  toSeries,
  total,
  usagePath,
  type RangeName,
  type UsagePage,
  type UsageSeries,
} from './usage-series.ts';

const EVERY_MS = 60_000;

/** Requests and tokens over time. */
export const UsageCard = () => {
  const [range, setRange] = useState<RangeName>('24h');
  const usage = useResource(
    range,
    async (signal) => toSeries(await api.get<UsagePage>(usagePath(range, Date.now()), signal)),
    { everyMs: EVERY_MS },
  );
  const choose = (
    <select
      class="range"
      aria-label="Range of time"
      value={range}
      onChange={(event) => setRange(event.currentTarget.value as RangeName)}
    >
      {Object.entries(RANGES).map(([name, { title }]) => (
        <option key={name} value={name}>
          {title}
        </option>
      ))}
    </select>
  );
  return (
    <Card title="Usage" aside={choose} isWide>
      <Loaded of={usage}>{(series) => <Usage series={series} />}</Loaded>
    </Card>
  );
};

const Usage = ({ series }: { readonly series: UsageSeries }) => {
  const rate = cacheHitRate(series);
  const requests = useMemo(
    (): Series[] => [{ label: 'Requests', color: 1, values: series.requests }],
    [series],
  );
  const tokens = useMemo(
    (): Series[] => [
      { label: 'Input', color: 1, values: series.input },
      { label: 'Cached input', color: 2, values: series.cached },
      { label: 'Output', color: 3, values: series.output },
    ],
    [series],
  );
  return (
    <>
      <dl class="figures">
        <Figure name="Requests" value={whole(total(series.requests))} />
        <Figure name="Input tokens" value={compact(total(series.input))} />
        <Figure name="Output tokens" value={compact(total(series.output))} />
        <Figure name="Cache hit rate" value={rate === null ? '–' : percent(rate)} />
      </dl>
      {total(series.requests) === 0 ? (
        <Empty>No model requests in this time.</Empty>
      ) : (
        <>
          <div class="charts">
            <Chart title="Requests" times={series.times} series={requests} format={compact} kind="bars" />
            <Chart title="Tokens" times={series.times} series={tokens} format={compact} kind="lines" />
          </div>
          <details>
            <summary>Show as a table</summary>
            <UsageTable series={series} />
          </details>
        </>
      )}
    </>
  );
};

const Figure = ({ name, value }: { readonly name: string; readonly value: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
);

interface Row {
  readonly time: number;
  readonly requests: number;
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'From', cell: ({ time }) => dateTime(time) },
  { title: 'Requests', cell: ({ requests }) => whole(requests), isNumber: true },
  { title: 'Input tokens', cell: ({ input }) => whole(input), isNumber: true },
  { title: 'Cached', cell: ({ cached }) => whole(cached), isNumber: true },
  { title: 'Output tokens', cell: ({ output }) => whole(output), isNumber: true },
];

/** Only times with requests, the newest first. */
const UsageTable = ({ series }: { readonly series: UsageSeries }) => {
  const rows = series.times
    .map((time, index) => ({
      time,
      requests: series.requests[index] ?? 0,
      input: series.input[index] ?? 0,
      cached: series.cached[index] ?? 0,
      output: series.output[index] ?? 0,
    }))
    .filter(({ requests }) => requests > 0)
    .toReversed();
  return <Table caption="Usage over time" columns={COLUMNS} rows={rows} keyOf={({ time }) => String(time)} />;
};
