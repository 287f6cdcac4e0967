import { gatewayError } from '../../canonical/failure/failure.ts';
import { itemFacts } from '../../canonical/request/item-facts.ts';
import { partsOf, withParts, type ImagePart, type Item } from '../../canonical/request/item.ts';
import type { Path } from '../../canonical/request/path.ts';
import type { HostedTool, Tool } from '../../canonical/request/tool.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { runSliced } from '../../kit/async/event-loop.ts';
import { isJsonObject } from '../../kit/json/json.ts';
import { isPlainWebUrl } from '../../kit/text/patterns.ts';
import { parseWebUrl, type FetchImage } from './fetch-image.ts';
import { canonicalDataUrl } from './image-data-url.ts';

export interface AttachmentOptions {
  readonly signal: AbortSignal;
  /** The name of an image's position in the request, for errors. */
  readonly nameOf: (path: Path) => string;
  /** Whether the backend fetches images by URL itself. Called only if the request has any. */
  readonly passesUrls: () => boolean;
  readonly maxFetches?: number;
  /** Limit for all fetched images together, as data URLs: they are in memory at the same time. */
  readonly maxTotalBytes?: number;
}

const MAX_FETCHES = 50;
const MAX_TOTAL_BYTES = 64 * 1024 * 1024;
/** One request must not occupy all DNS lookup threads. */
const FETCHES_AT_ONCE = 2;
/** Longer than any server accepts. */
const MAX_URL_CHARS = 8_192;

const isDataUrl = (url: string): boolean => /^data:/i.test(url);

interface PlacedImage {
  readonly part: ImagePart;
  readonly param: string;
}

const imagesOf = (
  { items, tools }: TurnRequest,
  nameOf: AttachmentOptions['nameOf'],
): readonly PlacedImage[] => [
  ...(itemFacts(items).images === 0 ? [] : items.flatMap((item, index) => placedImages(item, index, nameOf))),
  ...tools.flatMap((tool, index) => {
    const part = maskOf(tool);
    if (part === null) return [];
    return [{ part, param: nameOf({ toolField: { tool: index, field: 'input_image_mask' } }) }];
  }),
];

const placedImages = (
  item: Item,
  index: number,
  nameOf: AttachmentOptions['nameOf'],
): readonly PlacedImage[] => {
  const { field, parts } = partsOf(item);
  return parts.flatMap((part, at) =>
    part.kind === 'image' ? [{ part, param: nameOf({ file: { item: index, of: field, part: at } }) }] : [],
  );
};

const maskOf = (tool: Tool): ImagePart | null => (tool.kind === 'hosted' && tool.mask) || null;

/** Resolved images by URL. Data URLs are keyed by their part, because comparing megabytes is slow. */
class Images {
  readonly #byPart = new Map<ImagePart, string>();
  readonly #byUrl = new Map<string, string>();

  checked(part: ImagePart, url: string): void {
    this.#byPart.set(part, url);
  }

  fetched(url: string, image: string): void {
    this.#byUrl.set(url, image);
  }

  of(part: ImagePart): string {
    return this.#byPart.get(part) ?? this.#byUrl.get(part.url) ?? part.url;
  }
}

type Job = readonly [url: string, param: string];

/** Fetches a few at a time. The first failure cancels the others and is the one reported. */
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
          throw gatewayError('invalid_image', {
            message: 'The images of the request are too large in total.',
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
  // Assigned in `work`, which the compiler does not see.
  const outcome = failed as { readonly error: unknown } | null;
  if (outcome !== null) throw outcome.error;
  return fetched;
};

const replaceImages = (request: TurnRequest, images: Images): TurnRequest => {
  const replaced = (part: ImagePart): ImagePart => {
    const url = images.of(part);
    // Most URLs are unchanged, and this comparison is fast.
    return url === part.url ? part : { ...part, url };
  };
  const items = mapChanged(request.items, (item) => {
    const { parts } = partsOf(item);
    const changed = mapChanged(parts, (part) => (part.kind === 'image' ? replaced(part) : part));
    return changed === parts ? item : withParts(item, changed);
  });
  const tools = mapChanged(request.tools, (tool) => {
    const mask = maskOf(tool);
    const changed = mask === null ? null : replaced(mask);
    return changed === mask || changed === null ? tool : { ...(tool as HostedTool), mask: changed };
  });
  return items === request.items && tools === request.tools ? request : { ...request, items, tools };
};

/** Like `map`, but returns the same list if nothing changed. */
const mapChanged = <One>(list: readonly One[], map: (one: One) => One): readonly One[] => {
  const mapped = list.map(map);
  return mapped.some((one, index) => one !== list[index]) ? mapped : list;
};

/**
 * Checks every image of a request, and replaces image URLs by data URLs unless the backend fetches them itself.
 * Everything that can be checked without a fetch is checked first.
 */
export const resolveAttachments = async (
  request: TurnRequest,
  fetchImage: FetchImage,
  options: AttachmentOptions,
): Promise<TurnRequest> => {
  const { maxFetches = MAX_FETCHES, maxTotalBytes = MAX_TOTAL_BYTES } = options;
  if (itemFacts(request.items).hasRaw) checkScreenshots(request, options);
  const placed = imagesOf(request, options.nameOf);
  if (placed.length === 0) return request;
  const images = new Images();
  const jobs = new Map<string, string>();
  for (const { part, param } of placed) {
    if (isDataUrl(part.url))
      images.checked(part, await runSliced(canonicalDataUrl(part.url, param), options.signal));
    else if (part.url.length > MAX_URL_CHARS) throw urlTooLong(param);
    else if (!jobs.has(part.url)) jobs.set(part.url, param);
  }
  if (jobs.size > 0 && options.passesUrls()) {
    for (const [url, param] of jobs) checkPassed(url, param);
    return replaceImages(request, images);
  }
  const oneTooMany = [...jobs.values()][maxFetches];
  if (oneTooMany !== undefined) {
    throw gatewayError('invalid_image', {
      message: `Too many image URLs: at most ${maxFetches} images are fetched for one request.`,
      param: oneTooMany,
    });
  }
  for (const [url, image] of await fetchAll([...jobs], fetchImage, options.signal, maxTotalBytes)) {
    images.fetched(url, image);
  }
  return replaceImages(request, images);
};

const checkScreenshots = ({ items }: TurnRequest, { nameOf }: AttachmentOptions): void => {
  for (const [index, item] of items.entries()) {
    const url = screenshotUrl(item);
    if (url !== null && !isDataUrl(url)) checkPassed(url, `${nameOf({ item: index })}.output.image_url`);
  }
};

/** The URL of a screenshot in an item that is passed on unchanged; null if there is none. */
const screenshotUrl = (item: Item): string | null => {
  if (item.kind !== 'opaque' || item.raw.type !== 'computer_call_output') return null;
  const { output } = item.raw;
  const url = isJsonObject(output) ? output['image_url'] : null;
  return typeof url === 'string' ? url : null;
};

/** The backend parses the URL itself: one that parsers read differently could lead it to another host. */
const checkPassed = (url: string, param: string): void => {
  parseWebUrl(url, undefined, param);
  if (isPlainWebUrl(url)) return;
  throw gatewayError('invalid_image', {
    message: "Invalid image URL: it must begin with 'http://' or 'https://' and have no control characters.",
    param,
  });
};

const urlTooLong = (param: string): Error =>
  gatewayError('invalid_image', {
    message: `Invalid image URL: it is longer than the ${MAX_URL_CHARS} characters allowed.`,
    param,
  });
