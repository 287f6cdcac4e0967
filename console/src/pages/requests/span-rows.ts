import type { RequestSpan } from './request-answers.ts';

/** A row of the waterfall. `left` and `width` are percentages of the whole time. */
export interface SpanRow {
  readonly place: number;
  readonly title: string;
  readonly depth: number;
  readonly facts: string;
  readonly startMs: number;
  readonly tookMs: number;
  readonly left: number;
  readonly width: number;
  /** A point in time. */
  readonly isMoment: boolean;
  readonly tone: 'backend' | 'bad' | 'own' | 'wait';
}

const TITLES: Readonly<Record<string, string>> = {
  read: 'Read the request',
  plan: 'Plan',
  reserve: 'Limits of the key',
  queue: 'Wait for a slot',
  fetch: 'Fetch an image',
  attempt: 'Attempt',
  'app-server': 'App-server',
  'model-request': 'Backend',
  run: 'Run',
  tool: 'Tool',
  store: 'Store the answer',
  'first-delta': 'First delta',
  end: 'End of the answer',
};

const MOMENTS = new Set(['first-delta', 'end']);
const WAITS = new Set(['queue', 'reserve', 'app-server', 'store']);
const BACKEND = new Set(['model-request', 'tool']);
/** What the page shows of the facts of a part. */
const SHOWN = [
  'model',
  'transport',
  'status',
  'retry',
  'error',
  'name',
  'tool',
  'server',
  'workspace',
  'calls',
  'outcome',
];
const MAX_DEPTH = 5;

/** The parts in the order of the list: children follow their parent. */
export const spanRows = (spans: readonly RequestSpan[], durationMs: number): readonly SpanRow[] => {
  const total = Math.max(durationMs, ...spans.map(({ end_ms: end }) => end), 1);
  const share = (ms: number): number => Math.round((10_000 * Math.min(Math.max(ms, 0), total)) / total) / 100;
  return spans.map((span, place) => {
    const { name, start_ms: startMs, end_ms: endMs, facts } = span;
    const tookMs = Math.max(0, endMs - startMs);
    return {
      place,
      title: TITLES[name] ?? name,
      depth: depthOf(spans, span),
      facts: SHOWN.flatMap((fact) => (facts[fact] == null ? [] : [`${fact}: ${String(facts[fact])}`])).join(
        ', ',
      ),
      startMs,
      tookMs,
      left: share(startMs),
      width: share(tookMs),
      isMoment: MOMENTS.has(name),
      tone: toneOf(span),
    };
  });
};

const depthOf = (spans: readonly RequestSpan[], span: RequestSpan): number => {
  let depth = 0;
  for (let { parent } = span; parent !== null && depth < MAX_DEPTH; parent = spans[parent]?.parent ?? null)
    depth += 1;
  return depth;
};

const toneOf = ({ name, facts }: RequestSpan): SpanRow['tone'] => {
  if (facts['error'] !== undefined) return 'bad';
  if (WAITS.has(name)) return 'wait';
  return BACKEND.has(name) ? 'backend' : 'own';
};
