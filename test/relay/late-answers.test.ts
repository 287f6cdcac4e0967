import { describe, expect, it } from 'vitest';

import { ModelBudget, type Retry } from '../../src/canonical/context/model-budget.ts';
import { WHOLE, completed, freshRelays, inTurn, type Answer } from './backend.ts';

const start = freshRelays();

const LIMIT_MS = 400;
const created = 'event: response.created\ndata: {"type":"response.created","response":{"id":"resp_0"}}\n\n';
const delta =
  'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"Half"}\n\n';

const never: Answer = () => {};
const onlyHead: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
};
const onlyCreated: Answer = (response) => {
  onlyHead(response, undefined as never, 0);
  response.write(created);
};
const onlyKeepalives: Answer = (response) => {
  onlyCreated(response, undefined as never, 0);
  const timer = setInterval(() => response.write('event: keepalive\ndata: {"type":"keepalive"}\n\n'), 20);
  response.on('close', () => clearInterval(timer));
};
const cutAfterCreated: Answer = (response) => {
  onlyCreated(response, undefined as never, 0);
  setTimeout(() => response.destroy(), 20);
};

const watched = async (...answers: Parameters<typeof inTurn>) => {
  const late: string[] = [];
  const relay = await start(inTurn(...answers), {
    firstEventTimeoutMs: LIMIT_MS,
    onFirstEventLate: (transport) => late.push(transport),
  });
  const retries: Retry[] = [];
  const budget = new ModelBudget(64, { onRetry: (retry) => retries.push(retry) });
  return { ...relay, late, budget, reasons: () => retries.map(({ reason }) => reason) };
};

describe('an answer without output in time', () => {
  it.each([
    ['nothing', never],
    ['a head', onlyHead],
    ['response.created', onlyCreated],
    ['keepalives', onlyKeepalives],
  ])('is asked for once more, invisibly: %s', async (_, answer) => {
    const { backend, open, post, late, budget, reasons } = await watched(answer, completed);
    const { events, refused } = open('t1', {}, true, { budget });
    const response = await post('t1', { model: 'm' });
    expect(await response.text()).not.toContain('resp_0');
    expect([response.status, refused(), events]).toEqual([200, null, WHOLE]);
    expect(backend.arrivals.map(({ aborted }) => aborted)).toEqual([true, false]);
    expect([late, reasons(), budget.used]).toEqual([['http'], ['no first event'], 2]);
  });

  it('is a timeout after the second time', async () => {
    const { backend, open, post, late } = await watched(onlyCreated);
    const { refused } = open('t1');
    expect((await post('t1', {})).status).toBe(502);
    expect(backend.arrivals).toHaveLength(2);
    expect(refused()).toMatchObject({ kind: 'upstream_timeout' });
    expect(late).toEqual(['http', 'http']);
  });

  it('is not asked for again if the budget is spent', async () => {
    const { backend, open, post } = await watched(never);
    const { refused } = open('t1', {}, true, { budget: new ModelBudget(1) });
    await post('t1', {});
    expect(backend.arrivals).toHaveLength(1);
    expect(refused()).toMatchObject({ kind: 'upstream_timeout' });
  });
});

describe('an answer that ends before its output', () => {
  it('is asked for again', async () => {
    const { open, post, reasons, budget } = await watched(cutAfterCreated, completed);
    const { events } = open('t1', {}, true, { budget });
    expect(await (await post('t1', {})).text()).not.toContain('resp_0');
    expect([events, reasons()]).toEqual([WHOLE, ['no connection']]);
  });

  it('fails after three attempts, as it would without retries', async () => {
    const { backend, open, post } = await watched(cutAfterCreated);
    const { refused } = open('t1');
    await post('t1', {})
      .then((response) => response.text())
      .catch(() => '');
    expect(backend.arrivals).toHaveLength(3);
    expect(refused()?.message).toContain('without response.completed');
  });
});

it('an answer with output is never asked for again', async () => {
  const { backend, open, post, late } = await watched((response) => {
    onlyCreated(response, undefined as never, 0);
    response.write(delta);
    setTimeout(() => response.destroy(), 2 * LIMIT_MS + 50);
  });
  const { refused } = open('t1');
  const text = await post('t1', {})
    .then((response) => response.text())
    .catch(() => 'cut');
  expect([text, late]).toEqual(['cut', []]);
  expect(backend.arrivals).toHaveLength(1);
  expect(refused()).toMatchObject({ kind: 'upstream_error' });
});

it('a provider may take as long as it likes', async () => {
  const slow: Answer = (response, info, nth) =>
    void setTimeout(() => completed(response, info, nth), 3 * LIMIT_MS);
  const { backend, open, post } = await start(slow);
  const { events } = open('t1');
  await (await post('t1', {})).text();
  expect([backend.arrivals.length, events]).toEqual([1, WHOLE]);
});
