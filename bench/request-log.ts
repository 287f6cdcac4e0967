import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { printMessage } from '../src/features/request-log/project.ts';
import { systemAmbient } from '../src/kit/ambient.ts';
import { requestEnd } from '../src/observe/request-end.ts';
import { LogWriter } from '../src/features/request-log/log-writer.ts';
import { ANY_REQUEST, RequestLog } from '../src/features/request-log/request-log.ts';
import { requestStore } from '../src/features/request-log/store.ts';
import { openStore } from '../src/compose/open-store.ts';
import { partOf } from '../src/store/part.ts';

/**
 * Measures what the log of requests costs: `node bench/request-log.ts [seconds]`. The same notes and spans as those of a real
 * request are given to the log at 1,000 requests a minute, with a reader of the live stream and SQLite, and CPU time of the
 * whole process is compared with the same driver without the log.
 */
const PER_MINUTE = 1_000;
const seconds = Number(process.argv[2] ?? 30);

const notesOf = (nth: number) => ({
  status: 200,
  keyId: 'key_1',
  model: 'gpt-5.5',
  stream: true,
  client: { name: 'codex', source: 'header', reasons: ['originator'] },
  request: { items: 12, tools: 9, images: 0, bytes: 48_211 },
  answerId: `resp_${nth}`,
  ignored: ['seed'],
  turn: {
    ending: { kind: 'ended', outcome: { kind: 'completed' } } as const,
    usage: {
      inputTokens: 9_000,
      cachedInputTokens: 8_000,
      cacheWriteInputTokens: 0,
      outputTokens: 300,
      reasoningTokens: 100,
      totalTokens: 9_300,
    },
    firstEventMs: 300,
    durationMs: 812,
  },
  spans: {
    spans: (
      [
        'read',
        'plan',
        'reserve',
        'queue',
        'attempt',
        'app-server',
        'model-request',
        'first-delta',
        'end',
      ] as const
    ).map((name, place) => ({
      name,
      parent: place === 5 || place === 6 ? 4 : null,
      startMs: place * 10.125,
      endMs: place * 10.125 + 5,
      facts: name === 'model-request' ? { model: 'gpt-5.5', transport: 'http', status: 200 } : {},
    })),
    dropped: 0,
  },
});

const directory = await mkdtemp(path.join(tmpdir(), 'request-log-'));
const store = await openStore({
  databaseUrl: null,
  file: path.join(directory, 'state.db'),
  keys: [],
  timeoutMs: 5_000,
  clock: systemAmbient.clock,
});
const log = new RequestLog({
  ambient: systemAmbient,
  instance: 'bench',
  turnPaths: new Set(['/v1/responses']),
  maxInMemory: 500,
  kept: {
    store: partOf(store, requestStore),
    ttlMs: 60_000,
    writer: new LogWriter({
      store: partOf(store, requestStore),
      maxRows: 10_000,
      onLost() {},
      onError: console.error,
    }),
  },
  print: (message) => printMessage(message, () => null),
  onSkipped() {},
});

/** One request in the life of a server: four notes, then its end. */
const serve = async (nth: number, watched: Pick<RequestLog, 'open'> | null): Promise<void> => {
  const notes = notesOf(nth);
  const { keyId, model, client, ignored } = notes;
  const request = {
    requestId: `req_${nth}`,
    method: 'POST',
    route: '/v1/responses',
    startedAt: Date.now(),
    backgroundId: null,
  };
  const watch = watched?.open(request);
  watch?.note?.({ keyId });
  watch?.note?.({ named: null });
  watch?.note?.({ model, client });
  await pause(50);
  watch?.note?.({ ignored });
  await pause(100);
  watch?.end?.(requestEnd(request, notes, 812));
};

const run = async (watched: Pick<RequestLog, 'open'> | null): Promise<number> => {
  const before = process.cpuUsage();
  const total = Math.round((seconds * PER_MINUTE) / 60);
  const startedAt = performance.now();
  const all: Promise<void>[] = [];
  for (let nth = 0; nth < total; nth += 1) {
    all.push(serve(nth, watched));
    await pause(Math.max(0, startedAt + ((nth + 1) * 60_000) / PER_MINUTE - performance.now()));
  }
  await Promise.all(all);
  await log.list(ANY_REQUEST);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / (performance.now() - startedAt);
};

const delays: number[] = [];
const gone = new AbortController();
const readLive = async (): Promise<void> => {
  for await (const text of log.feed.read(gone.signal)) {
    for (const [, data = ''] of text.matchAll(/^event: request\.started\ndata: (.*)$/gm)) {
      delays.push(Date.now() - 1_000 * (JSON.parse(data) as { started_at: number }).started_at);
    }
  }
};

const without = await run(null);
const withLog = await run(log);
const reading = readLive();
const withReader = await run(log);
gone.abort();
await reading;
await log.close();
await store.close();
await rm(directory, { recursive: true, force: true });
const percent = (part: number): string => `${(part * 100).toFixed(2)} %`;
const sorted = delays.toSorted((one, other) => one - other);
console.log(`${PER_MINUTE} requests a minute for ${seconds} s each, share of one core:`);
console.log(`driver alone     ${percent(without)}`);
console.log(`with the log     ${percent(withLog)} (+${percent(withLog - without)})`);
console.log(`and a reader     ${percent(withReader)} (+${percent(withReader - without)})`);
console.log(
  `shown to the reader after ${sorted[Math.floor(sorted.length / 2)]?.toFixed(0)} ms (median), ${sorted.at(-1)?.toFixed(0)} ms (worst of ${sorted.length})`,
);
