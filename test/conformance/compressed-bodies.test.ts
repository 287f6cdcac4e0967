import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';

import { expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';

/** Compressed request bodies, through Node's own HTTP parser. */

const proxy = await openProxy(hello, { PROXY_MAX_BODY_BYTES: '2000000' });

const send = (
  path: string,
  body: Buffer<ArrayBuffer> | ReadableStream,
  headers: Record<string, string>,
): Promise<Response> =>
  fetch(proxy.url + path, {
    method: 'POST',
    body,
    headers: { 'x-api-key': proxy.key, 'content-type': 'application/json', ...headers },
    ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
  });

const errorCode = async (answer: Response): Promise<unknown> =>
  ((await answer.json()) as { error: { code: string } }).error.code;

const ASK = JSON.stringify({ model: 'gpt-5.5', input: `${'a long history '.repeat(1000)}✓` });

it.each([
  ['zstd', zstdCompressSync],
  ['gzip', gzipSync],
  ['br', brotliCompressSync],
  ['deflate', deflateSync],
] as const)(
  'a request in %s reaches the model whole, with its length or in chunks',
  async (encoding, compress) => {
    const body = compress(ASK);
    const headers = { 'content-encoding': encoding };
    const answers = [
      await send('/v1/responses', body, headers),
      await send('/v1/responses', new Blob([body]).stream(), headers),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(JSON.stringify(proxy.model.requests.at(-1)?.body)).toContain('a long history ✓');
  },
);

it('accepts a compressed form', async () => {
  const form = new FormData();
  form.set('prompt', 'a hat');
  form.set('n', 'not a number');
  const plain = new Response(form);
  const type = plain.headers.get('content-type') ?? '';
  const answer = await send('/v1/images/edits', gzipSync(await plain.bytes()), {
    'content-type': type,
    'content-encoding': 'gzip',
  });
  expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param: 'n' } }]);
});

it('rejects a body that would expand to a gigabyte, and frees its memory', async () => {
  const member = gzipSync(Buffer.alloc(10_000_000));
  const bomb = Buffer.concat(Array.from({ length: 100 }, () => member));
  const answer = await send('/v1/responses', bomb, { 'content-encoding': 'gzip' });
  expect([answer.status, await errorCode(answer)]).toEqual([413, 'request_too_large']);
  await expect.poll(async () => (await proxy.get('/metrics')).text()).toMatch(/^proxy_bytes_in_flight 0$/m);
});

it('rejects a truncated body with 400', async () => {
  const answer = await send('/v1/chat/completions', zstdCompressSync(ASK).subarray(0, 40), {
    'content-encoding': 'zstd',
  });
  expect([answer.status, await errorCode(answer)]).toEqual([400, 'invalid_json']);
});
