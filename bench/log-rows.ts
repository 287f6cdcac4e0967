import path from 'node:path';

import { openStore } from '../src/compose/open-store.ts';
import { ANY_REQUEST } from '../src/features/request-log/request-log.ts';
import { requestStore } from '../src/features/request-log/store.ts';
import { systemAmbient } from '../src/kit/ambient.ts';
import { partOf } from '../src/store/part.ts';
import { KEY, type ProxySide } from './proxy-side.ts';
import { ms, SHORT, type Row } from './rows.ts';
import { median } from './statistics.ts';

const ROWS = 100_000;
/** Written together. */
const AT_ONCE = 500;
const DAY_MS = 24 * 60 * 60_000;
const SAMPLES = 40;
const MAX_MS = 20;

/** Adds rows like those of real requests to the log of a server that is not running. */
const fill = async (stateDir: string): Promise<void> => {
  const { clock, ids } = systemAmbient;
  const file = path.join(stateDir, 'state.db');
  const store = await openStore({ databaseUrl: null, file, keys: [], timeoutMs: 60_000, clock });
  const requests = partOf(store, requestStore);
  const [listed] = await requests.list(ANY_REQUEST);
  const row = listed === undefined ? null : await requests.find(listed.id);
  if (row === null) throw new Error('the log is empty');
  const expiresAt = clock.now() + DAY_MS;
  for (let at = 0; at < ROWS; at += AT_ONCE) {
    await requests.add(
      Array.from({ length: AT_ONCE }, (_, nth) => {
        // Older than the real one, which is the newest.
        const id = `${row.id.slice(0, 12)}${String(at + nth).padStart(row.id.length - 12, '0')}`;
        return { ...row, id, requestId: ids.mint('req'), responseId: null, expiresAt };
      }),
    );
  }
  await store.close();
};

/** Lists in a log with many rows. */
export const longLog = async (stateDir: string, start: () => Promise<ProxySide>): Promise<readonly Row[]> => {
  const first = await start();
  for (let request = 0; request < 5; request += 1) await first.run(SHORT);
  await first.close();
  await fill(stateDir);
  const proxy = await start();
  const rows: Row[] = [];
  for (const [name, url] of [
    ['/v1/usage', '/usage'],
    ['50 requests', '/codex/requests?limit=50'],
    ['50 requests of a model', `/codex/requests?limit=50&model=${SHORT.model}`],
  ] as const) {
    const times: number[] = [];
    for (let sample = -5; sample < SAMPLES; sample += 1) {
      const startedAt = performance.now();
      const answer = await fetch(`${proxy.url}${url}`, { headers: { authorization: `Bearer ${KEY}` } });
      const { data } = (await answer.json()) as { readonly data?: readonly unknown[] };
      if (sample >= 0) times.push(performance.now() - startedAt);
      if (url.includes('limit') && data?.length !== 50) throw new Error(`${url} has ${data?.length} rows`);
    }
    const time = median(times);
    rows.push({
      figure: `${name} with ${ROWS} rows in the log, p50`,
      bare: '',
      proxy: ms(time),
      ratio: '',
      target: `≤ ${MAX_MS} ms`,
      reached: time <= MAX_MS,
      numbers: { samples: SAMPLES, rows: ROWS, ms: time },
    });
  }
  await proxy.close();
  return rows;
};
