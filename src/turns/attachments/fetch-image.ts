import { request as httpRequest } from 'undici';
import type { Dispatcher } from 'undici';
import { GatewayError, resourceFailureFor } from '../../canonical/failure/failure.ts';
import { runSliced } from '../../kit/async/event-loop.ts';
import { invalidImage, toImageDataUrl } from './image-data-url.ts';
import { createAgentPinner, type PinnedAgentOptions } from '../../network/pinned-agent.ts';

/** Fetches an image and returns it as a data URL. `param` names the field of the request, for errors. */
export type FetchImage = (url: string, param: string, signal: AbortSignal) => Promise<string>;

export interface ImageFetcherOptions extends Omit<PinnedAgentOptions, 'keepsConnections'> {
  readonly enabled: boolean;
  readonly maxBytes?: number;
  readonly timeoutMs?: number;
  readonly maxRedirects?: number;
}

const MAX_BYTES = 20 * 1024 * 1024;
const TIMEOUT_MS = 10_000;
const MAX_REDIRECTS = 3;

const WEB_URL = 'Expected an http or https URL, or a data URL with base64-encoded image data.';

/** Throws if the text is not an http or https URL. */
export const parseWebUrl = (text: string, base: URL | undefined, param: string): URL => {
  const url = URL.parse(text, base?.href);
  if (url === null) throw invalidImage(`Invalid image URL. ${WEB_URL}`, param);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw invalidImage(`Unsupported image URL scheme. ${WEB_URL}`, param);
  }
  return url;
};

const parseUrl = (text: string, base: URL | undefined, param: string): URL => {
  const url = parseWebUrl(text, base, param);
  if (url.username !== '' || url.password !== '') {
    throw invalidImage('Invalid image URL: it must not contain a user name or a password.', param);
  }
  return url;
};

const codeOf = (error: unknown): string | null =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;

const headerOf = (answer: Dispatcher.ResponseData, name: string): string => {
  const value = answer.headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
};

interface ImageLimits {
  readonly maxBytes: number;
  readonly param: string;
  readonly signal: AbortSignal;
}

const readImage = async (
  answer: Dispatcher.ResponseData,
  { maxBytes, param, signal }: ImageLimits,
): Promise<string> => {
  const tooLarge = invalidImage(`The image at the URL is larger than the ${maxBytes} bytes allowed.`, param);
  if (Number(headerOf(answer, 'content-length')) > maxBytes) throw tooLarge;
  if (!/^image\//i.test(headerOf(answer, 'content-type').trim())) {
    throw invalidImage('The URL does not lead to an image: its content type is not an image type.', param);
  }
  if (!/^(?:identity)?$/i.test(headerOf(answer, 'content-encoding').trim())) {
    throw invalidImage('The image at the URL has a content encoding that was not requested.', param);
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge;
    chunks.push(chunk);
  }
  return runSliced(toImageDataUrl(Buffer.concat(chunks, size), param), signal);
};

type Hop = { readonly image: string } | { readonly location: string };

const readAnswer = async (answer: Dispatcher.ResponseData, reading: ImageLimits): Promise<Hop> => {
  const location = headerOf(answer, 'location');
  if ([301, 302, 303, 307, 308].includes(answer.statusCode) && location !== '') return { location };
  if (answer.statusCode !== 200) {
    throw invalidImage(
      `Error while downloading the image. Upstream status code: ${answer.statusCode}.`,
      reading.param,
    );
  }
  return { image: await readImage(answer, reading) };
};

export const createImageFetcher = (options: ImageFetcherOptions): FetchImage => {
  const { maxBytes = MAX_BYTES, timeoutMs = TIMEOUT_MS, maxRedirects = MAX_REDIRECTS } = options;
  const pinAgent = createAgentPinner({ ...options, keepsConnections: false });

  const hop = async (url: URL, param: string, signal: AbortSignal): Promise<Hop> => {
    const agent = await pinAgent(url, signal);
    if (agent === null) throw invalidImage('The image URL does not lead to a public address.', param);
    try {
      const answer = await httpRequest(url, {
        dispatcher: agent,
        signal,
        // Compressed bytes would have to be unpacked to count them.
        headers: { accept: 'image/*', 'accept-encoding': 'identity' },
      });
      // The unread rest of the body is destroyed with the agent; its error is irrelevant.
      answer.body.on('error', () => {});
      return await readAnswer(answer, { maxBytes, param, signal });
    } finally {
      await agent.destroy();
    }
  };

  const follow = async (start: string, param: string, signal: AbortSignal): Promise<string> => {
    let url = parseUrl(start, undefined, param);
    for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
      const result = await hop(url, param, signal);
      if ('image' in result) return result.image;
      url = parseUrl(result.location, url, param);
    }
    throw invalidImage(`The image URL redirects more than ${maxRedirects} times.`, param);
  };

  return async (url, param, signal) => {
    const start = parseUrl(url, undefined, param).href;
    if (!options.enabled) {
      throw invalidImage('Fetching images by URL is disabled. Send the image as a data URL.', param);
    }
    signal.throwIfAborted();
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      return await follow(start, param, AbortSignal.any([signal, timeout]));
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      // The client has disconnected.
      if (signal.aborted) throw error;
      const ours = resourceFailureFor(codeOf(error));
      if (ours !== null) throw new GatewayError(ours, { cause: error });
      const message = timeout.aborted
        ? 'Timeout while downloading the image.'
        : 'Error while downloading the image: the server could not be reached.';
      throw invalidImage(message, param, error);
    }
  };
};
