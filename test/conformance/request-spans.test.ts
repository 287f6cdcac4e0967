import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, expect, it } from 'vitest';

import type { TraceSpan } from '../../src/canonical/context/trace.ts';
import type { Script } from '../../src/demo/model-server.ts';
import { capturedTrace } from '../support/captured-trace.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello, http500 } from '../support/scripts.ts';

const directory = await mkdtemp(path.join(tmpdir(), 'spans-'));
afterAll(() => rm(directory, { recursive: true, force: true }));
const proxy = await openProxy(hello, { PROXY_CAPTURE_DIR: directory });
const withoutRelay = await openProxy(hello, { PROXY_CAPTURE_DIR: directory, PROXY_WIRE: 'off' });

let requests = 0;
/** The parts of a chat request, as its capture has them. */
const spansOf = async (script: Script, more: object = {}, to = proxy): Promise<readonly TraceSpan[]> => {
  requests += 1;
  const id = `spans-${requests}`;
  to.use(script);
  const body = { model: 'gpt-5.5', messages: [{ role: 'user', content: 'hi' }], ...more };
  await (await to.post('/v1/chat/completions', body, { headers: { 'x-request-id': id } })).text();
  const lines = (await readFile(await capturedTrace(directory, id), 'utf8')).trim().split('\n');
  const [found] = lines.map((line) => JSON.parse(line) as { kind: string; spans: TraceSpan[] }).slice(-2);
  expect(found?.kind).toBe('spans');
  return found?.spans ?? [];
};

/** Names with those of their parents. */
const tree = (spans: readonly TraceSpan[]): readonly string[] =>
  spans.map(({ name, parent }) => (parent === null ? name : `${spans[parent]?.name} > ${name}`));

const BEFORE = ['read', 'plan', 'reserve', 'queue'];
const ATTEMPT = ['attempt', 'attempt > app-server', 'attempt > model-request'];

it('a request consists of parts in their order, each within its parent', async () => {
  const spans = await spansOf(hello, { stream: true });
  expect(tree(spans)).toEqual([...BEFORE, ...ATTEMPT, 'first-delta', 'end']);
  for (const { parent, startMs, endMs } of spans) {
    const { startMs: from, endMs: to } = spans[parent ?? -1] ?? { startMs: 0, endMs: Infinity };
    expect(from <= startMs && startMs <= endMs && endMs <= to).toBe(true);
  }
  expect(spans.find(({ name }) => name === 'model-request')?.facts).toEqual({
    model: 'gpt-5.5',
    host: expect.stringMatching(/^127\.0\.0\.1:/) as unknown,
    transport: 'http',
    status: 200,
    headMs: expect.any(Number) as unknown,
    firstDeltaMs: expect.any(Number) as unknown,
    end: 'completed',
    servedModel: 'gpt-5.5',
    inputTokens: 11,
    cachedInputTokens: 3,
    outputTokens: 7,
    reasoningTokens: 1,
  });
});

it('each choice has an attempt of its own', async () => {
  const spans = await spansOf(hello, { n: 2 });
  const attempts = spans.flatMap(({ name }, place) => (name === 'attempt' ? [place] : []));
  expect(attempts).toHaveLength(2);
  const requested = spans.flatMap(({ name, parent }) => (name === 'model-request' ? [parent] : []));
  expect(new Set(requested)).toEqual(new Set(attempts));
});

it('each model request is a part, with the reason for the next one', async () => {
  const spans = await spansOf(http500);
  expect(tree(spans)).toEqual([
    ...BEFORE,
    ...ATTEMPT,
    'attempt > model-request',
    'attempt > model-request',
    'end',
  ]);
  expect(
    spans.flatMap(({ name, facts }) => (name === 'model-request' ? [facts['retry'] ?? facts['error']] : [])),
  ).toEqual(['server-error', 'server-error', 'upstream_error']);
});

it('a rejected request consists of its reading', async () => {
  expect(await spansOf(hello, { temperature: 9 })).toMatchObject([
    { name: 'read', facts: { error: 'decimal_above_max_value' } },
  ]);
});

it('without the relay the answer of the app-server counts as its model request', async () => {
  const spans = await spansOf(hello, { stream: true }, withoutRelay);
  expect(tree(spans)).toEqual([...BEFORE, ...ATTEMPT, 'first-delta', 'end']);
  expect(spans.find(({ name }) => name === 'model-request')?.facts).toEqual({
    model: 'gpt-5.5',
    transport: 'app-server',
    inputTokens: 11,
    cachedInputTokens: 3,
    outputTokens: 7,
    reasoningTokens: 1,
  });
});
