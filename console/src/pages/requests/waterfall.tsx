import { duration } from '../../format/numbers.ts';
import { spanRows } from './span-rows.ts';
import type { RequestSpan } from './request-answers.ts';

interface WaterfallProps {
  readonly spans: readonly RequestSpan[];
  readonly durationMs: number;
  readonly dropped: number;
}

/** The parts of a request, one below the other, each where it began. A table, so that it can be read without the bars. */
export const Waterfall = ({ spans, durationMs, dropped }: WaterfallProps) => {
  const rows = spanRows(spans, durationMs);
  if (rows.length === 0) return <p class="hint">The parts are known when the request has ended.</p>;
  return (
    <>
      <div class="table-frame" role="region" aria-label="Parts of the request" tabIndex={0}>
        <table class="waterfall">
          <caption class="visually-hidden">Parts of the request and their times</caption>
          <thead>
            <tr>
              <th scope="col">Part</th>
              <th scope="col" class="number">
                Began after
              </th>
              <th scope="col" class="number">
                Took
              </th>
              <th scope="col">Timeline of {duration(durationMs)}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.place}>
                <th scope="row" style={{ paddingInlineStart: `${14 + row.depth * 18}px` }}>
                  {row.title}
                  {row.facts === '' ? null : <span class="hint waterfall-facts">{row.facts}</span>}
                </th>
                <td class="number">{duration(row.startMs)}</td>
                <td class="number">{row.isMoment ? '' : duration(row.tookMs)}</td>
                <td class="waterfall-lane" aria-hidden="true">
                  <span
                    class={`waterfall-bar waterfall-${row.tone}${row.isMoment ? ' waterfall-moment' : ''}`}
                    style={{
                      insetInlineStart: `${row.left}%`,
                      inlineSize: row.isMoment ? '' : `${row.width}%`,
                    }}
                  />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {dropped === 0 ? null : <p class="hint">{dropped} further parts are not shown.</p>}
    </>
  );
};
