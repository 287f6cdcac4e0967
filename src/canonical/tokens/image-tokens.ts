import { fromBase64 } from '../../kit/text/bytes.ts';
import { imageHeaderOf } from './image-header.ts';
import type { ImageDetail, ImageRef } from '../request/item.ts';

/** Tokens of an image, by OpenAI's published rules. */
export const imageTokens = (part: ImageRef, model: string): number => {
  const size = sizeOf(part.url) ?? UNKNOWN_SIZE;
  const detail = part.detail ?? 'auto';
  const [, rule] = RULES.find(([names]) => names.test(model)) ?? ['', CURRENT];
  return rule.kind === 'tiles' ? tilesOf(size, detail, rule) : patchesOf(size, detail, rule);
};

interface Size {
  readonly width: number;
  readonly height: number;
}

/** For images that only the backend fetches, or whose header cannot be read. */
const UNKNOWN_SIZE: Size = { width: 1_024, height: 1_024 };

interface Tiles {
  readonly kind: 'tiles';
  readonly base: number;
  readonly perTile: number;
}

interface Patches {
  readonly kind: 'patches';
  /** Maximum patches per image, except with `original` detail. */
  readonly budget: number;
  readonly perPatch: number;
}

const tiles = (base: number, perTile: number): Tiles => ({ kind: 'tiles', base, perTile });
const patches = (budget: number, perPatch: number): Patches => ({ kind: 'patches', budget, perPatch });

/** For current and unknown models. */
const CURRENT = patches(2_500, 1);

/** The first matching rule applies. */
const RULES: readonly (readonly [names: RegExp, Tiles | Patches])[] = [
  [/^gpt-4o-mini/, tiles(2_833, 5_667)],
  [/^o4-mini/, patches(1_536, 1.72)],
  [/-nano/, patches(1_536, 2.46)],
  [/-mini/, patches(1_536, 1.62)],
  [/^gpt-4/, tiles(85, 170)],
  [/^o[13]/, tiles(75, 150)],
  [/^computer-use/, tiles(65, 129)],
  [/^gpt-5(?:$|-|\.[123])/, tiles(70, 140)],
];

const TILE = 512;
const PATCH = 32;
const LOW_SIDE = 512;
const HIGH_SIDE = 2_048;
const ORIGINAL_SIDE = 6_000;
const ORIGINAL_BUDGET = 10_000;
const TILED_SHORT_SIDE = 768;

/** Scaled down to fit 2,048 × 2,048, then to a shorter side of 768. */
const tilesOf = (size: Size, detail: ImageDetail, { base, perTile }: Tiles): number => {
  if (detail === 'low') return base;
  const fitted = within(size, HIGH_SIDE);
  const scale = Math.min(1, TILED_SHORT_SIDE / Math.min(fitted.width, fitted.height));
  const across = Math.ceil((fitted.width * scale) / TILE);
  const down = Math.ceil((fitted.height * scale) / TILE);
  return base + across * down * perTile;
};

/** Scaled down to fit its square, then until whole patches fit the budget. */
const patchesOf = (size: Size, detail: ImageDetail, rule: Patches): number => {
  const side = detail === 'low' ? LOW_SIDE : detail === 'original' ? ORIGINAL_SIDE : HIGH_SIDE;
  const budget = detail === 'original' ? ORIGINAL_BUDGET : rule.budget;
  const { width, height } = within(size, side);
  const whole = Math.ceil(width / PATCH) * Math.ceil(height / PATCH);
  if (whole <= budget) return Math.ceil(whole * rule.perPatch);
  const scale = Math.sqrt((budget * PATCH * PATCH) / (width * height));
  const [across, down] = [(width * scale) / PATCH, (height * scale) / PATCH];
  const shrink = Math.min(Math.floor(across) / across, Math.floor(down) / down);
  const count = Math.ceil(across * shrink - ROUNDING) * Math.ceil(down * shrink - ROUNDING);
  return Math.ceil(Math.min(Math.max(count, 1), budget) * rule.perPatch);
};

/** Tolerance, so that a floating-point error does not add a patch. */
const ROUNDING = 1e-6;

const within = ({ width, height }: Size, side: number): Size => {
  const scale = Math.min(1, side / Math.max(width, height));
  return { width: width * scale, height: height * scale };
};

/** Length of the data URL to decode. Image headers are shorter, except in rare JPEGs. */
const HEADER_CHARS = 256 * 1024;

const sizeOf = (url: string): Size | null => {
  if (!/^data:/i.test(url.slice(0, 5))) return null;
  const data = url.slice(url.indexOf(',', 0) + 1).slice(0, HEADER_CHARS);
  return imageHeaderOf(fromBase64(data));
};
