import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { failure, GatewayError } from '../../canonical/failure/failure.ts';
import type { Failure } from '../../canonical/failure/failure.ts';
import { createImageFetcher } from './fetch-image.ts';
import type { ImageFetcherOptions } from './fetch-image.ts';

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const pngUrl = `data:image/png;base64,${png.toString('base64')}`;

let server: Server;
let port = 0;
let seen: string[] = [];
/** Resolves when the server sees the client disconnect. */
let gone = Promise.withResolvers<void>();

const redirect =
  (location: string): RequestListener =>
  (_, response) => {
    response.writeHead(302, { location }).end();
  };
const send =
  (headers: Record<string, string>, body: Buffer): RequestListener =>
  (_, response) => {
    response.writeHead(200, headers).end(body);
  };

const routes: Record<string, RequestListener> = {
  '/image.png': send({ 'content-type': 'image/png' }, png),
  '/wrong-type.jpg': send({ 'content-type': 'image/jpeg; charset=binary' }, png),
  '/page': send({ 'content-type': 'text/html' }, png),
  '/no-type': send({}, png),
  '/no-image': send({ 'content-type': 'image/png' }, Buffer.from('<html>not found</html>')),
  '/gzip': send({ 'content-type': 'image/png', 'content-encoding': 'gzip' }, png),
  '/declared-large': send({ 'content-type': 'image/png', 'content-length': '5000' }, Buffer.alloc(5000)),
  '/endless': (_, response) => {
    response.writeHead(200, { 'content-type': 'image/png' });
    const pump = (): void => {
      while (response.write(Buffer.alloc(500))) if (response.destroyed) return;
    };
    response.on('drain', pump).on('close', () => gone.resolve());
    pump();
  },
  '/silent': (_, response) => {
    response.on('close', () => gone.resolve());
  },
  '/stalled': (_, response) => {
    response.on('close', () => gone.resolve());
    response.writeHead(200, { 'content-type': 'image/png' }).write(png.subarray(0, 10));
  },
  '/cut': (_, response) => {
    response.writeHead(200, { 'content-type': 'image/png', 'content-length': '500' }).write(png, () => {
      response.destroy();
    });
  },
  '/r1': redirect('/r2'),
  '/r2': redirect('/r3'),
  '/r3': redirect('/image.png'),
  '/r0': redirect('/r1'),
  '/to-file': redirect('file:///etc/passwd'),
  '/to-password': redirect('http://user:secret@images.test/'),
  '/to-nonsense': redirect('http://['),
  '/without-location': (_, response) => {
    response.writeHead(302).end();
  },
};

beforeAll(async () => {
  server = createServer((request, response) => {
    seen.push(`${request.headers.host?.replace(/:\d+$/, '')}${request.url}`);
    const route = routes[request.url ?? ''];
    if (route === undefined) response.writeHead(404).end();
    else route(request, response);
  });
  routes['/to-inside'] = (request, response) =>
    redirect(`http://inside.test:${port}/image.png`)(request, response);
  routes['/to-literal'] = (request, response) =>
    redirect(`http://127.0.0.1:${port}/image.png`)(request, response);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  port = address.port;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => {
    server.close(resolve);
  });
});
beforeEach(() => {
  seen = [];
  gone = Promise.withResolvers<void>();
});

const open: ImageFetcherOptions = {
  enabled: true,
  allowPrivate: true,
  maxBytes: 2000,
  resolve: async () => ['127.0.0.1'],
};

const unresolved = (): Promise<never> => Promise.reject(new Error('getaddrinfo ENOTFOUND 10.1.2.3'));
const neverResolved = (): Promise<never> => new Promise(() => {});

const fetchPath = (
  path: string,
  options: ImageFetcherOptions = open,
  signal = new AbortController().signal,
): Promise<string> => createImageFetcher(options)(`http://images.test:${port}${path}`, 'p', signal);

const refusalOf = async (promise: Promise<string>): Promise<Failure | string> => {
  try {
    return await promise;
  } catch (error) {
    return error instanceof GatewayError ? error.failure : String(error);
  }
};

const refused = (message: string): Failure => failure('invalid_image', { message, param: 'p' });
const notPublic = refused('The image URL does not lead to a public address.');

describe('createImageFetcher', () => {
  it('connects to the resolved address with the original host name', async () => {
    expect(await fetchPath('/image.png')).toBe(pngUrl);
    expect(seen).toEqual(['images.test/image.png']);
  });

  it('takes the media type from the bytes', async () => {
    expect(await fetchPath('/wrong-type.jpg')).toBe(pngUrl);
  });

  it('follows three redirects and not four', async () => {
    expect(await fetchPath('/r1')).toBe(pngUrl);
    expect(seen).toEqual(['images.test/r1', 'images.test/r2', 'images.test/r3', 'images.test/image.png']);
    expect(await refusalOf(fetchPath('/r0'))).toEqual(refused('The image URL redirects more than 3 times.'));
  });

  const scheme = refused(
    'Unsupported image URL scheme. Expected an http or https URL, or a data URL with base64-encoded image data.',
  );
  const malformed = refused(
    'Invalid image URL. Expected an http or https URL, or a data URL with base64-encoded image data.',
  );
  const password = refused('Invalid image URL: it must not contain a user name or a password.');

  it.each([
    ['/missing', refused('Error while downloading the image. Upstream status code: 404.')],
    ['/without-location', refused('Error while downloading the image. Upstream status code: 302.')],
    ['/page', refused('The URL does not lead to an image: its content type is not an image type.')],
    ['/no-type', refused('The URL does not lead to an image: its content type is not an image type.')],
    [
      '/no-image',
      refused(
        'You uploaded an unsupported image. Please make sure your image is a valid PNG, JPEG, GIF or WebP.',
      ),
    ],
    ['/gzip', refused('The image at the URL has a content encoding that was not requested.')],
    ['/declared-large', refused('The image at the URL is larger than the 2000 bytes allowed.')],
    ['/cut', refused('Error while downloading the image: the server could not be reached.')],
    ['/to-file', scheme],
    ['/to-password', password],
    ['/to-nonsense', malformed],
  ])('rejects %s', async (path, expected) => {
    expect(await refusalOf(fetchPath(path))).toEqual(expected);
  });

  it.each([
    ['file:///etc/passwd', scheme],
    ['ftp://images.test/a.png', scheme],
    ['javascript:alert(1)', scheme],
    ['images.test/a.png', malformed],
    ['', malformed],
    ['http://user@images.test/', password],
    ['http://:secret@images.test/', password],
  ])('rejects the URL %s without a DNS lookup', async (url, expected) => {
    const fetchImage = createImageFetcher({ ...open, resolve: unresolved });
    expect(await refusalOf(fetchImage(url, 'p', new AbortController().signal))).toEqual(expected);
  });

  it('stops reading a body without a length at the limit', async () => {
    expect(await refusalOf(fetchPath('/endless'))).toEqual(
      refused('The image at the URL is larger than the 2000 bytes allowed.'),
    );
    await expect(gone.promise).resolves.toBeUndefined();
  });

  it.each([['/silent'], ['/stalled']])('times out on %s and disconnects', async (path) => {
    expect(await refusalOf(fetchPath(path, { ...open, timeoutMs: 250 }))).toEqual(
      refused('Timeout while downloading the image.'),
    );
    await expect(gone.promise).resolves.toBeUndefined();
  });

  it('times out on a name that does not resolve', async () => {
    expect(
      await refusalOf(fetchPath('/image.png', { ...open, resolve: neverResolved, timeoutMs: 250 })),
    ).toEqual(refused('Timeout while downloading the image.'));
  });

  it('ends with the abort reason when the client disconnects', async () => {
    const caller = new AbortController();
    const fetching = refusalOf(fetchPath('/silent', open, caller.signal));
    await expect.poll(() => seen).toEqual(['images.test/silent']);
    caller.abort(new Error('the client went away'));
    expect(await fetching).toBe('Error: the client went away');
    await expect(gone.promise).resolves.toBeUndefined();
  });

  it('reveals nothing about the network in errors', async () => {
    expect(await refusalOf(fetchPath('/image.png', { ...open, resolve: unresolved }))).toEqual(
      refused('Error while downloading the image: the server could not be reached.'),
    );
  });

  it('explains the alternative when fetching is off', async () => {
    expect(await refusalOf(fetchPath('/image.png', { ...open, enabled: false }))).toEqual(
      refused('Fetching images by URL is disabled. Send the image as a data URL.'),
    );
    expect(seen).toEqual([]);
  });
});

describe('createImageFetcher, out of files', () => {
  it("does not blame the image's server", async () => {
    const resolve = (): Promise<never> =>
      Promise.reject(Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' }));
    expect(await refusalOf(fetchPath('/image.png', { ...open, resolve }))).toEqual(
      failure('out_of_resources', { retryAfterSeconds: 1 }),
    );
  });
});

describe('createImageFetcher, public addresses only', () => {
  const closed: ImageFetcherOptions = { ...open, allowPrivate: false };

  it.each([
    ['loopback', ['127.0.0.1']],
    ['one address of several', ['8.8.8.8', '10.0.0.1']],
    ['an embedded address', ['64:ff9b::7f00:1']],
    ['no address', []],
  ])('rejects a name with %s without connecting', async (_, addresses) => {
    expect(await refusalOf(fetchPath('/image.png', { ...closed, resolve: async () => addresses }))).toEqual(
      notPublic,
    );
    expect(seen).toEqual([]);
  });

  it.each([
    ['127.0.0.1'],
    ['127.1'],
    ['2130706433'],
    ['0x7f000001'],
    ['0177.0.0.1'],
    ['0'],
    ['[::1]'],
    ['[::ffff:127.0.0.1]'],
    ['[::127.0.0.1]'],
    ['169.254.169.254'],
  ])('rejects the literal %s', async (host) => {
    const fetchImage = createImageFetcher({ ...closed, resolve: async (name) => [name] });
    const url = `http://${host}:${port}/image.png`;
    expect(await refusalOf(fetchImage(url, 'p', new AbortController().signal))).toEqual(notPublic);
    expect(seen).toEqual([]);
  });

  it('rejects localhost by its resolved address', async () => {
    const fetchImage = createImageFetcher({ enabled: true, allowPrivate: false });
    const url = `http://localhost:${port}/image.png`;
    expect(await refusalOf(fetchImage(url, 'p', new AbortController().signal))).toEqual(notPublic);
    expect(seen).toEqual([]);
  });

  it.each([['/to-inside'], ['/to-literal']])('checks again after the redirect of %s', async (path) => {
    // All servers here are on loopback: the first check accepts the address, the second does not.
    const judged: string[] = [];
    const options: ImageFetcherOptions = {
      ...closed,
      isPublic: (address) => judged.push(address) === 1,
    };
    expect(await refusalOf(fetchPath(path, options))).toEqual(notPublic);
    expect(seen).toEqual([`images.test${path}`]);
    expect(judged).toEqual(['127.0.0.1', '127.0.0.1']);
  });

  it('does not resolve a checked name again', async () => {
    const answers = [['127.0.0.1'], ['10.0.0.1']];
    let asked = 0;
    const options: ImageFetcherOptions = {
      ...closed,
      resolve: async () => {
        const answer = answers[asked] ?? [];
        asked += 1;
        return answer;
      },
      isPublic: (address) => address === '127.0.0.1',
    };
    expect(await fetchPath('/image.png', options)).toBe(pngUrl);
    expect(asked).toBe(1);
  });
});
