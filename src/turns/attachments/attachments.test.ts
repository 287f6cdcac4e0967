import { describe, expect, it } from 'vitest';
import { gatewayError, failure, failureOf } from '../../canonical/failure/failure.ts';
import type { Item } from '../../canonical/request/item.ts';
import type { Path } from '../../canonical/request/path.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { parameterName } from '../../apis/parameters.ts';
import { PLAIN_FORM } from '../../openai/shared/read-tools.ts';
import { responsesNames } from '../../openai/responses/input/parameters.ts';
import { turnRequest } from '../../../test/support/turn-request.ts';
import { resolveAttachments } from './attachments.ts';
import type { FetchImage } from './fetch-image.ts';

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const dataUrl = `data:image/png;base64,${png}`;
const signal = new AbortController().signal;
/** The parser has dropped the second item of the body. */
const places = ['input[0]', 'input[2]', 'input[3]', 'input[4]'];

const nameOf = (path: Path): string =>
  parameterName(path, responsesNames({ places, placeOf: PLAIN_FORM.placeOf }));

/** A backend that accepts images only as data URLs. */
const passesUrls = (): boolean => false;

const requestOf = (items: readonly Item[]): TurnRequest => turnRequest({ items });

const user = (...urls: readonly string[]): Item => ({
  kind: 'message',
  role: 'user',
  parts: urls.map((url) => ({ kind: 'image', url, detail: 'high' })),
});

const nothing: FetchImage = () => Promise.reject(new Error('fetched'));

const fortyBytes: FetchImage = async () => 'x'.repeat(40);

const failureFrom = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    return await promise;
  } catch (error) {
    return failureOf(error);
  }
};

describe('resolveAttachments', () => {
  it('returns the same request when nothing changes', async () => {
    const plain = requestOf([{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }]);
    const good = requestOf([
      user(dataUrl),
      { kind: 'tool-output', tool: 'function', callId: 'c', output: 'http://a.test' },
    ]);
    expect(await resolveAttachments(plain, nothing, { signal, nameOf, passesUrls })).toBe(plain);
    expect(await resolveAttachments(good, nothing, { signal, nameOf, passesUrls })).toBe(good);
  });

  it('accepts a screenshot of a computer call only as a web or data URL', async () => {
    const screenshot = (url: string) =>
      requestOf([
        user(dataUrl),
        {
          kind: 'opaque',
          raw: {
            type: 'computer_call_output',
            call_id: 'c',
            output: { type: 'computer_screenshot', image_url: url },
          },
        },
      ]);
    const check = (url: string) =>
      failureFrom(resolveAttachments(screenshot(url), nothing, { signal, nameOf, passesUrls }));
    for (const url of ['https://example.com/a.png', dataUrl])
      expect(await check(url)).toEqual(screenshot(url));
    for (const url of ['file:///etc/passwd', 'etc/passwd', ' https://example.com/']) {
      expect(await check(url)).toMatchObject({ kind: 'invalid_image', param: 'input[2].output.image_url' });
    }
  });

  it('only checks URLs for a backend that fetches images itself', async () => {
    const many = Array.from({ length: 60 }, (_, index) => `https://user:pw@10.0.0.1/${index}?a=b#c`);
    const good = requestOf([user(dataUrl, ...many)]);
    const passing = { signal, nameOf, passesUrls: () => true };
    expect(await resolveAttachments(good, nothing, passing)).toBe(good);
    const both = requestOf([user('HTTP://a.test/ä', `data:image/jpg;base64,${png}`)]);
    expect(await resolveAttachments(both, nothing, passing)).toEqual(
      requestOf([user('HTTP://a.test/ä', dataUrl)]),
    );
    for (const url of [
      'file:///etc/passwd',
      'ftp://a.test/x',
      'cat.png',
      'ht\ntp://a.test/x',
      ' http://a.test/x',
      'http:a.test',
      'http:\\\\a.test',
      'http://a.test/\r\nx: y',
      `http://a.test/${'x'.repeat(9_000)}`,
    ]) {
      expect(
        await failureFrom(resolveAttachments(requestOf([user(dataUrl, url)]), nothing, passing)),
      ).toMatchObject({
        kind: 'invalid_image',
        param: 'input[0].content[1]',
      });
    }
  });

  it('asks about the backend only if there is a URL', async () => {
    const asking = {
      signal,
      nameOf,
      passesUrls: (): boolean => {
        throw new Error('asked');
      },
    };
    const good = requestOf([user(dataUrl)]);
    expect(await resolveAttachments(good, nothing, asking)).toBe(good);
  });

  it('replaces URLs in messages and outputs, and nothing else', async () => {
    const text: Item = {
      kind: 'message',
      role: 'developer',
      parts: [{ kind: 'text', text: 'http://a.test' }],
    };
    const request = requestOf([
      text,
      user('http://a.test/1', `data:image/jpg;base64,${png}`),
      {
        kind: 'tool-output',
        tool: 'function',
        id: 'f',
        callId: 'c1',
        output: [{ kind: 'image', url: 'http://a.test/2' }],
      },
      {
        kind: 'tool-output',
        tool: 'custom',
        callId: 'c2',
        output: [
          { kind: 'text', text: 'x' },
          { kind: 'image', url: 'http://a.test/1' },
        ],
      },
    ]);
    const fetched: [string, string][] = [];
    const fetchImage: FetchImage = async (url, param) => {
      fetched.push([url, param]);
      return `data:${url}`;
    };
    const resolved = await resolveAttachments(request, fetchImage, { signal, nameOf, passesUrls });
    expect(resolved).toEqual({
      ...request,
      items: [
        text,
        {
          kind: 'message',
          role: 'user',
          parts: [
            { kind: 'image', url: 'data:http://a.test/1', detail: 'high' },
            { kind: 'image', url: dataUrl, detail: 'high' },
          ],
        },
        {
          kind: 'tool-output',
          tool: 'function',
          id: 'f',
          callId: 'c1',
          output: [{ kind: 'image', url: 'data:http://a.test/2' }],
        },
        {
          kind: 'tool-output',
          tool: 'custom',
          callId: 'c2',
          output: [
            { kind: 'text', text: 'x' },
            { kind: 'image', url: 'data:http://a.test/1' },
          ],
        },
      ],
    });
    expect(resolved.items[0]).toBe(text);
    // One fetch for each URL, named by its first occurrence.
    expect(fetched).toEqual([
      ['http://a.test/1', 'input[2].content[0]'],
      ['http://a.test/2', 'input[3].output[0]'],
    ]);
  });

  it('fetches at most two at once', async () => {
    let running = 0;
    let most = 0;
    const fetchImage: FetchImage = async (url) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
      return `data:${url}`;
    };
    const urls = Array.from({ length: 11 }, (_, index) => `http://a.test/${index}`);
    const resolved = await resolveAttachments(requestOf([user(...urls)]), fetchImage, {
      signal,
      nameOf,
      passesUrls,
    });
    expect(resolved).toEqual(requestOf([user(...urls.map((url) => `data:${url}`))]));
    expect(most).toBe(2);
  });

  it('rejects an invalid data URL before fetching', async () => {
    const request = requestOf([user('http://a.test/1'), user(dataUrl, 'data:image/png;base64,!')]);
    expect(await failureFrom(resolveAttachments(request, nothing, { signal, nameOf, passesUrls }))).toEqual(
      failure('invalid_image', { message: 'Invalid base64 image data.', param: 'input[2].content[1]' }),
    );
  });

  it('replaces masks of tools', async () => {
    const masked = (url: string): TurnRequest =>
      turnRequest({
        tools: [
          { kind: 'hosted', raw: { type: 'web_search' } },
          { kind: 'hosted', raw: { type: 'image_generation' }, mask: { kind: 'image', url } },
        ],
      });
    const fetchImage: FetchImage = async (url, param) => `${url} for ${param}`;
    const options = { signal, nameOf, passesUrls };
    expect(await resolveAttachments(masked('http://a.test/m'), fetchImage, options)).toEqual(
      masked('http://a.test/m for tools[1].input_image_mask'),
    );
    const good = masked(dataUrl);
    expect(await resolveAttachments(good, nothing, options)).toBe(good);
  });

  it('names fields as the client wrote them', async () => {
    const options = { signal, nameOf: (path: Path) => `my ${JSON.stringify(path)}`, passesUrls };
    expect(
      await failureFrom(resolveAttachments(requestOf([user('data:x')]), nothing, options)),
    ).toMatchObject({
      param: 'my {"file":{"item":0,"of":"content","part":0}}',
    });
  });

  it('rejects too many URLs before fetching', async () => {
    const request = requestOf([
      user('http://a.test/1', 'http://a.test/1', 'http://a.test/2', 'http://a.test/3'),
    ]);
    expect(
      await failureFrom(resolveAttachments(request, nothing, { signal, nameOf, passesUrls, maxFetches: 2 })),
    ).toEqual(
      failure('invalid_image', {
        message: 'Too many image URLs: at most 2 images are fetched for one request.',
        param: 'input[0].content[3]',
      }),
    );
  });

  it('rejects images whose total is too large', async () => {
    const request = requestOf([user('http://a.test/1', 'http://a.test/2')]);
    expect(
      await failureFrom(
        resolveAttachments(request, fortyBytes, { signal, nameOf, passesUrls, maxTotalBytes: 79 }),
      ),
    ).toEqual(
      failure('invalid_image', {
        message: 'The images of the request are too large in total.',
        param: 'input[0].content[1]',
      }),
    );
    expect(
      await resolveAttachments(request, fortyBytes, { signal, nameOf, passesUrls, maxTotalBytes: 80 }),
    ).toEqual(requestOf([user('x'.repeat(40), 'x'.repeat(40))]));
  });

  it('cancels the other fetches when one fails, and starts no more', async () => {
    const started: string[] = [];
    const ended: string[] = [];
    const fetchImage: FetchImage = async (url, param, given) => {
      started.push(url);
      if (url.endsWith('/1')) throw gatewayError('invalid_image', { message: 'the first', param });
      await new Promise<void>((_, reject) => {
        given.addEventListener('abort', () => {
          ended.push(url);
          reject(new Error('aborted'));
        });
      });
      return '';
    };
    const urls = [
      'http://a.test/0',
      'http://a.test/1',
      'http://a.test/2',
      'http://a.test/3',
      'http://a.test/4',
    ];
    expect(
      await failureFrom(
        resolveAttachments(requestOf([user(...urls)]), fetchImage, { signal, nameOf, passesUrls }),
      ),
    ).toEqual(failure('invalid_image', { message: 'the first', param: 'input[0].content[1]' }));
    expect(started).toEqual(urls.slice(0, 2));
    expect(ended).toEqual(['http://a.test/0']);
  });

  it('fetches nothing for a disconnected client', async () => {
    const gone = AbortSignal.abort(new Error('the client went away'));
    const request = requestOf([user('http://a.test/1')]);
    await expect(resolveAttachments(request, nothing, { signal: gone, nameOf, passesUrls })).rejects.toThrow(
      'the client went away',
    );
  });
});
