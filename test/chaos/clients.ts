import { once } from 'node:events';
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import type { TestProxy } from '../support/proxy.ts';
import { readSse, type SseFrame } from '../support/sse.ts';
import { judge, ofStream, ofWhole, wrong, type Verdict } from './answer.ts';
import type { Plan } from './plan.ts';

/** Far more than any request needs with all its retries: a client that still waits would wait forever. */
const LIMIT_MS = 120_000;

export const MAX_BODY_BYTES = 400_000;

const PARAMETERS = { type: 'object', properties: { index: { type: 'number' }, text: { type: 'string' } } };
const PATHS: Readonly<Record<Plan['api'], string>> = {
  responses: '/v1/responses',
  chat: '/v1/chat/completions',
};

const responsesBody = ({ nonce, stream, tools }: Plan): object => ({
  model: 'gpt-5.5',
  stream,
  input:
    tools === 'continued'
      ? [
          { role: 'user', content: 'Look it up.' },
          { type: 'function_call', call_id: 'call_before', name: 'look_up', arguments: '{}' },
          { type: 'function_call_output', call_id: 'call_before', output: `Found: ${nonce}` },
        ]
      : `Say ${nonce}.`,
  ...(tools !== 'none' && { tools: [{ type: 'function', name: 'look_up', parameters: PARAMETERS }] }),
});

const chatBody = ({ nonce, stream, tools }: Plan): object => ({
  model: 'gpt-5.5',
  stream,
  messages:
    tools === 'continued'
      ? [
          { role: 'user', content: 'Look it up.' },
          {
            role: 'assistant',
            tool_calls: [
              { id: 'call_before', type: 'function', function: { name: 'look_up', arguments: '{}' } },
            ],
          },
          { role: 'tool', tool_call_id: 'call_before', content: `Found: ${nonce}` },
        ]
      : [{ role: 'user', content: `Say ${nonce}.` }],
  ...(tools !== 'none' && {
    tools: [{ type: 'function', function: { name: 'look_up', parameters: PARAMETERS } }],
  }),
});

const bodyOf = (plan: Plan): string => {
  const body = plan.api === 'responses' ? responsesBody(plan) : chatBody(plan);
  if (plan.client.kind === 'sends nonsense') return plan.client.body;
  if (plan.client.kind === 'sends too much')
    return JSON.stringify({ ...body, metadata: { much: 'x'.repeat(MAX_BODY_BYTES) } });
  return JSON.stringify(body);
};

async function* slowly(response: IncomingMessage, pauseMs: number): AsyncGenerator<Buffer> {
  await sleep(pauseMs * 3);
  for await (const chunk of response as AsyncIterable<Buffer>) {
    await sleep(pauseMs);
    yield chunk;
  }
}

const read = async (plan: Plan, response: IncomingMessage): Promise<Verdict> => {
  const { client, api } = plan;
  const bytes = client.kind === 'reads slowly' ? slowly(response, client.pauseMs) : response;
  if (response.headers['content-type']?.startsWith('text/event-stream') === true) {
    const frames: SseFrame[] = [];
    for await (const frame of readSse(bytes)) frames.push(frame);
    return judge(plan, ofStream(api, frames), frames.map(({ data }) => data).join('\n'));
  }
  const chunks: Buffer[] = [];
  for await (const chunk of bytes as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  return judgeWhole(plan, response.statusCode ?? 0, text);
};

const judgeWhole = (plan: Plan, status: number, text: string): Verdict => {
  const answer = ofWhole(plan.api, JSON.parse(text) as Record<string, unknown>);
  if ((status === 200) !== (answer.end === 'completed'))
    return wrong(`status ${status}: ${text.slice(-300)}`);
  const wanted = { 'sends nonsense': 400, 'sends too much': 413 } as const;
  const { kind } = plan.client;
  if ((kind === 'sends nonsense' || kind === 'sends too much') && status !== wanted[kind])
    return wrong(`status ${status} for a client that ${kind}: ${text.slice(0, 300)}`);
  return judge(plan, answer, text);
};

const send = (proxy: TestProxy, plan: Plan): ClientRequest => {
  const body = bodyOf(plan);
  const http = httpRequest(proxy.url + PATHS[plan.api], {
    // No shared connections: what happens to one request affects no other.
    agent: false,
    method: 'POST',
    headers: {
      authorization: `Bearer ${proxy.key}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    },
  });
  if (plan.client.kind === 'sends half') http.write(body.slice(0, body.length / 2));
  else http.end(body);
  return http;
};

const exchange = async (proxy: TestProxy, plan: Plan, http: ClientRequest): Promise<Verdict> => {
  const { client } = plan;
  if (client.kind === 'sends half') {
    await sleep(50);
    return { kind: 'left' };
  }
  const answered = once(http, 'response').then(([response]: IncomingMessage[]) => {
    if (response === undefined) throw new Error('no response');
    return read(plan, response);
  });
  if (client.kind !== 'leaves') return answered;
  // What it has received when it leaves is right or missing.
  const left = sleep(client.afterMs).then((): Verdict => ({ kind: 'left' }));
  answered.catch(() => {});
  return Promise.race([answered, left]);
};

/** Sends one request as planned, and judges the answer. */
export const runClient = async (proxy: TestProxy, plan: Plan): Promise<Verdict> => {
  const http = send(proxy, plan);
  // Errors after its end are ignored.
  http.on('error', () => {});
  const { promise: late, resolve } = Promise.withResolvers<Verdict>();
  const limit = setTimeout(() => resolve(wrong('never ended')), LIMIT_MS);
  try {
    return await Promise.race([exchange(proxy, plan, http), late]);
  } catch (error) {
    return wrong(`the connection broke: ${String(error)}`);
  } finally {
    clearTimeout(limit);
    http.destroy();
  }
};
