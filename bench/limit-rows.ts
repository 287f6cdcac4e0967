import { KEY, type ProxySide } from './proxy-side.ts';
import type { Row } from './rows.ts';
import { inputOf, rowsOf } from './state-rows.ts';

/** What the limits of a key cost: a key with a limit for each window, compared with one without limits. */

const SAMPLES = 300;

const LIMITS = ['minute', '5h', 'day', '7d', 'month'].map((window) => ({
  unit: window === 'minute' ? 'requests' : 'tokens',
  window,
  max: 1_000_000_000,
}));

const makeKey = async ({ url }: ProxySide, fields: object): Promise<string> => {
  const answer = await fetch(`${url}/codex/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench', ...fields }),
  });
  if (!answer.ok) throw new Error(`the proxy answered ${answer.status}`);
  return ((await answer.json()) as { readonly key: string }).key;
};

export const keyLimits = async (
  side: ProxySide,
  database: string,
  maxAddedMs: number,
): Promise<readonly Row[]> => {
  const [free, limited] = [await makeKey(side, {}), await makeKey(side, { limits: LIMITS })];
  const body = { input: inputOf(1), store: false, max_output_tokens: 1_000 };
  const runs = { other: () => side.send(body, free), ours: () => side.send(body, limited) };
  const figure = `a key with ${LIMITS.length} limits vs. one without, ${database}`;
  return rowsOf(figure, runs, SAMPLES, { firstDeltaMs: { maxAddedMs } });
};
