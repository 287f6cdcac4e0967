import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { ResponsesWS } from 'openai/resources/responses/ws';
import type { ResponsesClientEvent, ResponsesServerEvent } from 'openai/resources/responses/responses';

import { openProxy } from '../support/open-proxy.ts';
import { failed, hello, http429, says } from '../support/scripts.ts';
import { ANSWER, QUESTION, threeRounds, weatherIn } from './rounds.ts';

/** OpenAI's packages over WebSockets. */
const proxy = await openProxy(threeRounds);

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => weatherIn(city),
});

const count = (method: string, status: number): number =>
  proxy.log.filter((line) => line['method'] === method && line['status'] === status).length;

describe('the Agents SDK', () => {
  const provider = new OpenAIProvider({
    openAIClient: proxy.openai,
    useResponses: true,
    useResponsesWebSocket: true,
  });
  afterAll(() => provider.close());
  const runner = new Runner({ tracingDisabled: true, modelProvider: provider });
  const agent = new Agent({
    name: 'weather',
    instructions: 'Be brief.',
    model: 'gpt-5.5',
    tools: [getWeather],
  });

  it('runs tools over one connection, several times', async () => {
    proxy.use(threeRounds);
    const [upgrades, requests] = [count('GET', 101), count('WEBSOCKET', 200)];
    for (const stream of [false, true, false] as const) {
      const run = stream ? await runner.run(agent, QUESTION, { stream }) : await runner.run(agent, QUESTION);
      if ('completed' in run) await run.completed;
      expect(run.finalOutput).toBe(ANSWER);
    }
    expect([count('GET', 101) - upgrades, count('WEBSOCKET', 200) - requests]).toEqual([1, 9]);
  });

  it('continues by previousResponseId, and sends only what is new', async () => {
    proxy.use(threeRounds);
    const first = await runner.run(agent, QUESTION);
    const { lastResponseId } = first;
    proxy.use(hello);
    const second = await runner.run(agent, 'Thanks.', { previousResponseId: lastResponseId ?? '' });
    expect(second.finalOutput).toBe('Hello from the scripted model.');
    expect(JSON.stringify(proxy.model.requests.at(-1)?.body['input'])).toContain(ANSWER);
  });

  it.each([
    ['before its start', http429(1)],
    ['after its start', says([{ text: 'Half' }, { fail: { code: 'server_error', message: 'Broken.' } }])],
    ['at once', failed()],
  ])('reports a failure %s, and goes on', async (_, script) => {
    proxy.use(script);
    await expect(runner.run(agent, 'Hello?')).rejects.toThrow(
      'OpenAI Responses request ended with unsuccessful terminal state',
    );
    proxy.use(hello);
    expect((await runner.run(agent, 'Hello?')).finalOutput).toBe('Hello from the scripted model.');
  });
});

describe('ResponsesWS', () => {
  const isEnd = ({ type }: ResponsesServerEvent): boolean =>
    ['response.completed', 'response.failed', 'response.incomplete', 'error'].includes(type);

  const ask = async (ws: ResponsesWS, event: ResponsesClientEvent): Promise<ResponsesServerEvent> => {
    const { promise, resolve } = Promise.withResolvers<ResponsesServerEvent>();
    const look = (one: ResponsesServerEvent): void => {
      if (isEnd(one)) resolve(one);
    };
    ws.on('event', look);
    ws.send(event);
    const end = await promise;
    ws.off('event', look);
    return end;
  };

  it('creates and continues responses, with and without lanes', async () => {
    proxy.use(hello);
    const ws = new ResponsesWS(proxy.openai);
    const create = { type: 'response.create', model: 'gpt-5.5', store: false } as const;
    const first = await ask(ws, { ...create, input: 'Hi', stream_id: 'main' });
    if (first.type !== 'response.completed') throw new Error(first.type);
    const second = await ask(ws, { ...create, input: 'More', previous_response_id: first.response.id });
    expect([first, second]).toMatchObject([
      { type: 'response.completed', stream_id: 'main', response: { store: false } },
      { type: 'response.completed', response: { previous_response_id: first.response.id } },
    ]);
    ws.close();
  });

  it('reads the error of a request, and goes on', async () => {
    proxy.use(hello);
    const ws = new ResponsesWS(proxy.openai);
    const errors: unknown[] = [];
    ws.on('error', (error) => errors.push(error.error));
    const create = { type: 'response.create', model: 'gpt-5.5', input: 'Hi' } as const;
    await ask(ws, { ...create, previous_response_id: 'resp_unknown' });
    expect(errors).toMatchObject([
      { type: 'error', status: 400, error: { code: 'previous_response_not_found' } },
    ]);
    expect(await ask(ws, create)).toMatchObject({ type: 'response.completed' });
    ws.close();
  });
});
