import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';

import { createOpenAI } from '@ai-sdk/openai';
import { OpenAIEmbeddings } from '@langchain/openai';
import { embed as embedValue } from 'ai';
import { toFile } from 'openai';
import { afterAll, describe, expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { PROVIDER_KEY, startProvider } from '../support/provider.ts';
import { hello } from '../support/scripts.ts';

const MAX_BODY = 1_000_000;
const provider = await startProvider();
afterAll(() => provider.close());
const proxy = await openProxy(hello, {
  PROXY_EMBEDDINGS_BASE_URL: `${provider.baseUrl}/`,
  PROXY_EMBEDDINGS_API_KEY: PROVIDER_KEY,
  PROXY_TRANSCRIPTIONS_BASE_URL: provider.baseUrl,
  PROXY_TRANSCRIPTIONS_API_KEY: PROVIDER_KEY,
  PROXY_MAX_BODY_BYTES: String(MAX_BODY),
});
const { openai } = proxy;

const VECTOR = [0.25, -1, 3];
const embedding = (format: string): unknown =>
  format === 'base64' ? Buffer.from(new Float32Array(VECTOR).buffer).toString('base64') : VECTOR;

/** Answers like OpenAI. */
const embed = (): void =>
  provider.use(async (incoming, outgoing) => {
    const { body } = await provider.receive(incoming);
    const { model, encoding_format: format } = JSON.parse(body.toString()) as Record<string, string>;
    outgoing.writeHead(200, { 'content-type': 'application/json' });
    const data = [{ object: 'embedding', index: 0, embedding: embedding(format ?? 'float') }];
    const usage = { prompt_tokens: 2, total_tokens: 2 };
    outgoing.end(JSON.stringify({ object: 'list', data, model, usage }));
  });

const AUDIO = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, index) => index % 251));
const audio = () => toFile(AUDIO, 'speech.wav', { type: 'audio/wav' });

describe('the client of OpenAI', () => {
  it.each([undefined, 'float', 'base64'] as const)('gets embeddings, format %s', async (format) => {
    embed();
    const answer = await openai.embeddings.create({
      model: 'nomic-embed-text',
      input: 'good tea',
      ...(format === undefined ? {} : { encoding_format: format }),
    });
    const expected = format === 'base64' ? embedding('base64') : VECTOR;
    expect(answer).toEqual({
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: expected }],
      model: 'nomic-embed-text',
      usage: { prompt_tokens: 2, total_tokens: 2 },
    });
  });

  it('gets the transcription of a file', async () => {
    provider.use(async (incoming, outgoing) => {
      const { headers, body } = await provider.receive(incoming);
      const form = await new Response(new Uint8Array(body), {
        headers: { 'content-type': headers['content-type'] ?? '' },
      }).formData();
      const file = form.get('file') as File;
      const isWhole = Buffer.from(await file.arrayBuffer()).equals(AUDIO);
      outgoing.writeHead(200, { 'content-type': 'application/json' });
      outgoing.end(
        JSON.stringify({ text: `${form.get('model') as string} ${file.name} ${file.type} ${isWhole}` }),
      );
    });
    const answer = await openai.audio.transcriptions.create({ file: await audio(), model: 'whisper-1' });
    expect(answer).toEqual({ text: 'whisper-1 speech.wav audio/wav true' });
    expect(provider.requests.at(-1)?.url).toBe('/v1/audio/transcriptions');
  });

  it('gets a streamed transcription as it is written', async () => {
    const hasRead = Promise.withResolvers<void>();
    const delta = { type: 'transcript.text.delta', delta: 'Good ' };
    const done = { type: 'transcript.text.done', text: 'Good tea' };
    provider.use(async (incoming, outgoing) => {
      await provider.receive(incoming);
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
      outgoing.write(`data: ${JSON.stringify(delta)}\n\n`);
      await hasRead.promise;
      outgoing.end(`data: ${JSON.stringify(done)}\n\ndata: [DONE]\n\n`);
    });
    const events: unknown[] = [];
    const stream = await openai.audio.transcriptions.create({
      file: await audio(),
      model: 'gpt-4o-transcribe',
      stream: true,
    });
    for await (const event of stream) {
      events.push(event);
      hasRead.resolve();
    }
    expect(events).toEqual([delta, done]);
  });
});

describe('other clients', () => {
  it('LangChain embeds documents', async () => {
    embed();
    const embeddings = new OpenAIEmbeddings({
      model: 'nomic-embed-text',
      apiKey: proxy.key,
      configuration: { baseURL: `${proxy.url}/v1` },
    });
    expect(await embeddings.embedDocuments(['good tea'])).toEqual([VECTOR]);
  });

  it('the AI SDK embeds a value', async () => {
    embed();
    const { embeddingModel } = createOpenAI({ baseURL: `${proxy.url}/v1`, apiKey: proxy.key });
    const answer = await embedValue({ model: embeddingModel('nomic-embed-text'), value: 'good tea' });
    expect([answer.embedding, answer.usage]).toEqual([VECTOR, { tokens: 2 }]);
  });
});

it('counts what a named key sends, also if it is compressed or the client leaves', async () => {
  const made = await proxy.post('/v1/codex/keys', {
    name: 'embeds',
    limits: [{ unit: 'tokens', window: 'month', max: 2 * MAX_BODY, model: '*' }],
  });
  const { id, key } = (await made.json()) as { readonly id: string; readonly key: string };
  const used = async (): Promise<unknown> =>
    /"used":(\d+)/.exec(await (await proxy.get(`/v1/codex/keys/${id}/limits`)).text())?.[1];
  const post = (body: string | Buffer<ArrayBuffer>, init: RequestInit = {}): Promise<Response> =>
    fetch(`${proxy.url}/v1/embeddings`, {
      method: 'POST',
      body,
      ...init,
      headers: { authorization: `Bearer ${key}`, ...(init.headers as Record<string, string>) },
    });
  const left = new AbortController();
  provider.use(() => left.abort());
  await expect(post('x'.repeat(300), { signal: left.signal })).rejects.toThrow('aborted');
  await expect.poll(used).toBe('100');
  provider.use((incoming, outgoing) => void incoming.resume().on('end', () => outgoing.writeHead(500).end()));
  await post('x'.repeat(3_000));
  await expect.poll(used).toBe('100');
  provider.use((incoming, outgoing) => void incoming.resume().on('end', () => outgoing.writeHead(200).end()));
  await post(gzipSync('x'.repeat(300_000)), { headers: { 'content-encoding': 'gzip' } });
  await expect.poll(used).toBe(String(100 + Math.ceil(MAX_BODY / 3)));
});

describe('a forwarded request', () => {
  it('arrives byte for byte, with the key of the provider and without what is only for this server', async () => {
    provider.use(async (incoming, outgoing) => {
      await provider.receive(incoming);
      outgoing.writeHead(200).end();
    });
    const body = gzipSync(JSON.stringify({ model: 'm', input: 'tea' }));
    const response = await proxy.send('/v1/embeddings?api-version=preview&x=a%20b', {
      method: 'POST',
      body,
      headers: {
        accept: 'application/json',
        'content-type': 'application/json; charset=utf-8',
        'content-encoding': 'gzip',
        'user-agent': 'tea/1',
        'openai-organization': 'org-caller',
        'x-api-key': 'sk-caller',
        'api-key': 'sk-caller',
        cookie: 'session=1',
        'x-forwarded-for': '192.0.2.1',
        'x-stainless-lang': 'js',
      },
    });
    expect(response.status).toBe(200);
    expect(provider.requests.at(-1)).toEqual({
      method: 'POST',
      url: '/v1/embeddings?api-version=preview&x=a%20b',
      headers: {
        host: provider.host,
        connection: 'keep-alive',
        accept: 'application/json',
        'accept-encoding': 'identity',
        'accept-language': '*',
        authorization: `Bearer ${PROVIDER_KEY}`,
        'content-type': 'application/json; charset=utf-8',
        'content-encoding': 'gzip',
        'content-length': String(body.length),
        'user-agent': 'tea/1',
        'x-stainless-lang': 'js',
      },
      body,
    });
  });

  it('gets the status, the body and the describing headers of the answer', async () => {
    const body = Buffer.from([0, 255, 10, 13]);
    provider.use((incoming, outgoing) => {
      incoming.resume();
      outgoing.writeHead(201, {
        'content-type': 'application/octet-stream',
        'content-length': body.length,
        'openai-processing-ms': '7',
        'x-ratelimit-remaining-requests': '59',
        'x-request-id': 'req_provider',
        'set-cookie': 'a=b',
        'x-accel-redirect': '/secret',
        'access-control-allow-origin': '*',
        server: 'tea',
      });
      outgoing.end(body);
    });
    const response = await proxy.post('/v1/embeddings', {}, { headers: { 'x-request-id': 'mine-7' } });
    const { date: _, ...headers } = Object.fromEntries(response.headers);
    expect([response.status, headers, Buffer.from(await response.arrayBuffer())]).toEqual([
      201,
      {
        'content-type': 'application/octet-stream',
        'content-length': '4',
        'openai-processing-ms': '7',
        'x-ratelimit-remaining-requests': '59',
        'x-upstream-request-id': 'req_provider',
        'x-request-id': 'mine-7',
        vary: 'origin',
        connection: 'keep-alive',
        'keep-alive': 'timeout=75',
      },
      body,
    ]);
  });

  it('may be empty, and so may its answer', async () => {
    provider.use(async (incoming, outgoing) => {
      await provider.receive(incoming);
      outgoing.writeHead(204).end();
    });
    const response = await proxy.send('/v1/embeddings', { method: 'POST' });
    const { headers, body } = provider.requests.at(-1) ?? { headers: {}, body: null };
    expect([response.status, await response.text(), headers['content-length'], body]).toEqual([
      204,
      '',
      '0',
      Buffer.alloc(0),
    ]);
  });

  it('may wait for a confirmation before it sends its body', async () => {
    embed();
    const body = JSON.stringify({ model: 'm', input: 'tea' });
    const asked = request(`${proxy.url}/v1/embeddings`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${proxy.key}`,
        expect: '100-continue',
        'content-length': body.length,
      },
    });
    asked.flushHeaders();
    await once(asked, 'continue');
    asked.end(body);
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.resume();
    expect([answer.statusCode, provider.requests.at(-1)?.body.toString()]).toEqual([200, body]);
  });

  it('is logged and counted like any other', async () => {
    embed();
    await proxy.post('/v1/embeddings', { model: 'm' });
    await expect
      .poll(() => proxy.log.findLast(({ msg }) => msg === 'request'))
      .toMatchObject({
        method: 'POST',
        route: '/v1/embeddings',
        status: 200,
        stream: false,
        errorCode: null,
      });
    const metrics = await (await proxy.get('/metrics')).text();
    expect(metrics).toMatch(/^proxy_requests_total\{route="\/v1\/embeddings",status="200"\} [1-9]/m);
  });

  it('needs the key of this server', async () => {
    const before = provider.requests.length;
    const response = await fetch(`${proxy.url}/v1/embeddings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${PROVIDER_KEY}` },
    });
    expect([response.status, provider.requests.length]).toEqual([401, before]);
  });

  it.each([
    ['announced', Buffer.alloc(MAX_BODY + 1)],
    [
      'sent in chunks',
      new ReadableStream({ start: (at) => (at.enqueue(new Uint8Array(MAX_BODY + 1)), at.close()) }),
    ],
  ])('is rejected if it is too large, %s', async (_, body) => {
    let received = 0;
    provider.use((incoming) => void incoming.on('data', (chunk: Buffer) => (received += chunk.length)));
    const response = await proxy.send('/v1/audio/transcriptions', {
      method: 'POST',
      body,
      duplex: 'half',
    });
    expect([response.status, await response.json(), received <= MAX_BODY]).toEqual([
      413,
      {
        error: {
          message: `The request body is larger than the ${MAX_BODY} bytes allowed.`,
          type: 'invalid_request_error',
          param: null,
          code: 'request_too_large',
        },
      },
      true,
    ]);
  });
});
