import { fail } from '../canonical/failure.ts';
import type { Item, Part } from '../canonical/item.ts';
import type { TurnRequest } from '../canonical/turn-request.ts';
import type { FetchImage } from './fetch-image.ts';
import { canonicalDataUrl } from './image-bytes.ts';

export interface AttachmentOptions {
  readonly signal: AbortSignal;
  readonly maxFetches?: number;
  /** All fetched images together, as data URLs: they are held in memory and sent on at once. */
  readonly maxTotalBytes?: number;
}

const MAX_FETCHES = 50;
const MAX_TOTAL_BYTES = 64 * 1024 * 1024;
/** One request must not take up all who look for names. */
const FETCHES_AT_ONCE = 2;

const paramOf = (place: string | undefined, item: Item, partIndex: number): string =>
  `${place ?? 'input'}.${item.kind === 'message' ? 'content' : 'output'}[${partIndex}]`;

const partsOf = (item: Item): readonly Part[] => {
  if (item.kind === 'message') return item.parts;
  if (item.kind !== 'function-output' && item.kind !== 'custom-output') return [];
  return typeof item.output === 'string' ? [] : item.output;
};

const withParts = (item: Item, parts: readonly Part[]): Item => {
  if (item.kind === 'message') return { ...item, parts };
  if (item.kind === 'function-output' || item.kind === 'custom-output') return { ...item, output: parts };
  return item;
};

const isDataUrl = (url: string): boolean => /^data:/i.test(url);

/** Every image URL of a request, with the param of the first place where it stands. */
const imageUrls = (request: TurnRequest): Map<string, string> => {
  const urls = new Map<string, string>();
  for (const [itemIndex, item] of request.items.entries()) {
    for (const [partIndex, part] of partsOf(item).entries()) {
      if (part.kind === 'image' && !urls.has(part.url)) {
        urls.set(part.url, paramOf(request.places[itemIndex], item, partIndex));
      }
    }
  }
  return urls;
};

type Job = readonly [url: string, param: string];

/** A few at a time. The first failure ends the others, and is the one that is told. */
const fetchAll = async (
  jobs: readonly Job[],
  fetchImage: FetchImage,
  signal: AbortSignal,
  maxTotalBytes: number,
): Promise<Map<string, string>> => {
  const fetched = new Map<string, string>();
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const queue = jobs.values();
  let total = 0;
  let failed: { readonly error: unknown } | null = null;
  const work = async (): Promise<void> => {
    try {
      for (const [url, param] of queue) {
        either.throwIfAborted();
        const image = await fetchImage(url, param, either);
        total += image.length;
        if (total > maxTotalBytes) {
          throw fail('invalid_image', {
            message: 'The images of the request are too large together.',
            param,
          });
        }
        fetched.set(url, image);
      }
    } catch (error) {
      failed ??= { error };
      stop.abort();
    }
  };
  await Promise.all(Array.from({ length: Math.min(FETCHES_AT_ONCE, jobs.length) }, work));
  // The assignment happens in `work`, where the compiler does not look for it.
  const outcome = failed as { readonly error: unknown } | null;
  if (outcome !== null) throw outcome.error;
  return fetched;
};

const replaceImages = (request: TurnRequest, images: ReadonlyMap<string, string>): TurnRequest => {
  const items = request.items.map((item) => {
    const parts = partsOf(item);
    const replaced = parts.map((part) => {
      const url = part.kind === 'image' ? images.get(part.url) : undefined;
      return part.kind === 'image' && url !== undefined && url !== part.url ? { ...part, url } : part;
    });
    return replaced.some((part, index) => part !== parts[index]) ? withParts(item, replaced) : item;
  });
  return items.some((item, index) => item !== request.items[index]) ? { ...request, items } : request;
};

/**
 * Makes every image of a request a checked data URL, the only form that the app-server takes.
 * What is wrong with the request itself is found before anything is fetched for it.
 */
export const resolveAttachments = async (
  request: TurnRequest,
  fetchImage: FetchImage,
  options: AttachmentOptions,
): Promise<TurnRequest> => {
  const { maxFetches = MAX_FETCHES, maxTotalBytes = MAX_TOTAL_BYTES } = options;
  const images = new Map<string, string>();
  const jobs: Job[] = [];
  for (const [url, param] of imageUrls(request)) {
    if (isDataUrl(url)) images.set(url, canonicalDataUrl(url, param));
    else jobs.push([url, param]);
  }
  if (images.size === 0 && jobs.length === 0) return request;
  const oneTooMany = jobs[maxFetches];
  if (oneTooMany !== undefined) {
    throw fail('invalid_image', {
      message: `Too many image URLs: at most ${maxFetches} images are fetched for one request.`,
      param: oneTooMany[1],
    });
  }
  for (const [url, image] of await fetchAll(jobs, fetchImage, options.signal, maxTotalBytes)) {
    images.set(url, image);
  }
  return replaceImages(request, images);
};
