import { useEffect, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';

export interface Series {
  readonly label: string;
  /** The number of a colour of the charts. */
  readonly color: 1 | 2 | 3 | 4;
  readonly values: readonly number[];
}

interface ChartProps {
  /** Says what the chart shows. */
  readonly title: string;
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  readonly kind: 'bars' | 'lines';
}

const HEIGHT = 200;

const colorOf = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name);

/** Numbers over time. The library that draws it loads with the first chart. */
export const Chart = ({ title, times, series, format, kind }: ChartProps) => {
  const place = useRef<HTMLDivElement>(null);
  const [library, setLibrary] = useState<{ readonly UPlot: typeof uPlot } | null>(null);
  const [hasFailed, setHasFailed] = useState(false);
  const isDark = useDark();
  useEffect(() => {
    let isCurrent = true;
    import('./chart-library.ts').then(
      ({ UPlot }) => isCurrent && setLibrary({ UPlot }),
      () => isCurrent && setHasFailed(true),
    );
    return () => {
      isCurrent = false;
    };
  }, []);
  useEffect(() => {
    const element = place.current;
    if (library === null || element === null) return undefined;
    const options = optionsOf(library.UPlot, { times, series, format, kind }, element.clientWidth);
    const data = [times, ...series.map(({ values }) => values)] as unknown as uPlot.AlignedData;
    const chart = new library.UPlot(options, data, element);
    const resize = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      chart.destroy();
    };
  }, [library, times, series, format, kind, isDark]);
  return (
    <figure class="chart">
      <figcaption>
        <h3>{title}</h3>
        <ul class="legend">
          {series.map(({ label, color }) => (
            <li key={label}>
              <span class={`swatch swatch-${color}`} aria-hidden="true" />
              {label}
            </li>
          ))}
        </ul>
      </figcaption>
      {hasFailed ? <p class="hint">The chart cannot be drawn in this browser.</p> : null}
      <div ref={place} class="chart-place" aria-hidden="true" />
    </figure>
  );
};

const useDark = (): boolean => {
  const [isDark, setIsDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches);
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)');
    const changed = (): void => setIsDark(query.matches);
    query.addEventListener('change', changed);
    return () => query.removeEventListener('change', changed);
  }, []);
  return isDark;
};

const optionsOf = (
  UPlot: typeof uPlot,
  { times, series, format, kind }: Omit<ChartProps, 'title'>,
  width: number,
): uPlot.Options => {
  const step = (times[1] ?? 0) - (times[0] ?? 0);
  const axis = {
    stroke: colorOf('--text-muted'),
    grid: { stroke: colorOf('--border'), width: 1 },
    ticks: { stroke: colorOf('--border'), width: 1 },
    font: '12px system-ui, sans-serif',
  };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false },
    scales: {
      // Half a step on both sides, so that no bar is cut off.
      x: { range: (_chart, low, high) => [low - step / 2, high + step / 2] },
      y: { range: (_chart, _low, high) => [0, Math.max(high * 1.1, 1)] },
    },
    axes: [
      { ...axis, space: 70 },
      { ...axis, size: 52, values: (_chart, values) => values.map(format) },
    ],
    series: [
      {},
      ...(series.map(({ label, color }) => {
        const stroke = colorOf(`--chart-${color}`);
        return kind === 'bars'
          ? {
              label,
              fill: stroke,
              paths: UPlot.paths.bars?.({ size: [0.7, 24] }),
              points: { show: false },
            }
          : { label, stroke, width: 2, points: { show: false } };
      }) as uPlot.Series[]),
    ],
  };
};
