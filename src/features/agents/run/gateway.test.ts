import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { fixedAmbient } from '../../../../test/support/turn-events.ts';
import type { TurnEvent } from '../../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { openAgentGateway, type AgentGateway, type GatewayRun } from './gateway.ts';

const END: TurnEvent = { type: 'turn-ended', outcome: { kind: 'completed' }, usage: null, at: 1 };
const CALL = {
  kind: 'tool-call',
  tool: 'custom',
  id: 'ctc_1',
  callId: 'p1',
  name: 'apply_patch',
  input: '',
} as const;

const BODY = {
  model: 'gpt-5.5',
  stream: true,
  input: [{ type: 'message', id: 'msg_a', role: 'user', content: [{ type: 'input_text', text: '.' }] }],
  tools: [{ type: 'function', name: 'exec_command', description: '', strict: false, parameters: {} }],
};

let gateway: AgentGateway;
const bugs: unknown[] = [];
beforeAll(async () => {
  gateway = await openAgentGateway({ ambient: fixedAmbient(), onBug: (error) => bugs.push(error) });
});
afterAll(() => gateway.close());

const post = (
  body: JsonObject | string,
  headers: Readonly<Record<string, string>> = { 'thread-id': 't1' },
  path = '/responses',
  signal?: AbortSignal,
): Promise<Response> =>
  fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });

/** A run that answers so. */
const runOf = (answer: (request: TurnRequest, left: AbortSignal) => AsyncIterable<TurnEvent> | null) => {
  const broken: unknown[] = [];
  const run: GatewayRun = { answer, broken: (error) => broken.push(error) };
  return { run, broken, stop: gateway.expect('t1', run) };
};

describe('the gateway', () => {
  it('gives a model request to the run of its thread, and the events to codex', async () => {
    const asked: TurnRequest[] = [];
    const { stop, broken } = runOf(async function* answer(request) {
      asked.push(request);
      yield { type: 'item-started', item: CALL };
      yield { type: 'item-ended', item: { ...CALL, input: '*** Begin Patch', status: 'completed' } };
      yield END;
    });
    const response = await post(BODY);
    const text = await response.text();
    stop();
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    expect([...text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.custom_tool_call_input.done',
      'response.output_item.done',
      'response.completed',
      'done',
    ]);
    expect(text).toContain('"input":"*** Begin Patch"');
    expect(asked).toEqual([
      expect.objectContaining({
        model: 'gpt-5.5',
        items: [{ kind: 'message', id: 'msg_a', role: 'user', parts: [{ kind: 'text', text: '.' }] }],
        tools: [expect.objectContaining({ kind: 'function', name: 'exec_command' })],
      }),
    ]);
    expect([broken, bugs]).toEqual([[], []]);
  });

  it('answers nothing else', async () => {
    const { stop } = runOf(() => null);
    const status = async (...request: Parameters<typeof post>): Promise<number> =>
      (await post(...request)).status;
    const statuses = [
      await status(BODY, { 'thread-id': 'other' }),
      await status(BODY, {}),
      await status(BODY, { 'thread-id': 't1', 'x-openai-subagent': 'review' }),
      await status(BODY),
      await status(BODY, { 'thread-id': 't1' }, '/models'),
      await status(BODY, { 'thread-id': 't1' }, '/responses/compact'),
      (await fetch(`${gateway.url}/responses`)).status,
      (await fetch(`${gateway.url.slice(0, -1)}x/responses`, { method: 'POST' })).status,
    ];
    stop();
    expect([...statuses, await status(BODY)]).toEqual([410, 410, 410, 410, 404, 404, 404, 404, 410]);
  });

  it('reports a request that it cannot read', async () => {
    const { stop, broken } = runOf(() => null);
    const statuses = [(await post('{')).status, (await post({ model: 'gpt-5.5', input: 7 })).status];
    stop();
    expect([statuses, broken.length]).toEqual([[400, 400], 2]);
  });

  it('breaks off an answer that fails', async () => {
    const { stop } = runOf(async function* answer() {
      yield { type: 'item-started', item: CALL };
      throw new Error('the model has failed');
    });
    await expect(post(BODY).then((response) => response.text())).rejects.toThrow(TypeError);
    stop();
    expect(bugs).toEqual([]);
  });

  it('reports that codex reads no further', async () => {
    const left = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const { stop } = runOf(async function* answer(_, gone) {
      gone.addEventListener('abort', () => left.resolve());
      yield { type: 'item-started', item: CALL };
      begun.resolve();
      await left.promise;
      gone.throwIfAborted();
    });
    const leave = new AbortController();
    const response = await post(BODY, undefined, undefined, leave.signal);
    await begun.promise;
    leave.abort();
    await expect(response.text()).rejects.toThrow('aborted');
    await left.promise;
    stop();
  });
});
