import { describe, expect, it } from 'vitest';

import { imageTokens } from './image-tokens.ts';
import type { ImageDetail } from '../request/item.ts';

const png = (width: number, height: number): string => {
  const bytes = Buffer.alloc(24);
  bytes.write('\x89PNG\r\n\x1a\n', 0, 'latin1');
  bytes.write('IHDR', 12, 'latin1');
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return `data:image/png;base64,${bytes.toString('base64')}`;
};

// The first rows are examples published by OpenAI.
describe('imageTokens', () => {
  it.each<[model: string, url: string, detail: ImageDetail | undefined, tokens: number]>([
    ['gpt-4o', png(1024, 1024), 'high', 765],
    ['gpt-4o', png(2048, 4096), 'high', 1105],
    ['gpt-4o', png(4096, 8192), 'low', 85],
    ['gpt-4.1-mini', png(1024, 1024), undefined, Math.ceil(1024 * 1.62)],
    ['gpt-4.1-mini', png(1800, 2400), undefined, Math.ceil(1452 * 1.62)],
    ['gpt-5', png(1024, 1024), 'auto', 630],
    ['o4-mini', png(1024, 1024), 'high', Math.ceil(1024 * 1.72)],
    ['gpt-5.5', png(1024, 1024), 'high', 1024],
    ['gpt-5.5', png(1024, 1024), 'low', 256],
    ['gpt-5.5', png(1, 1), 'high', 1],
    ['gpt-5.5', png(4096, 4096), 'high', 2500],
    ['gpt-5.5', png(3200, 3200), 'original', 10_000],
    ['gpt-5.5', png(100_000, 1), 'high', 64],
    ['gpt-5.5', 'https://example.com/cat.png', undefined, 1024],
    ['gpt-5.5', 'data:image/png;base64,AAAA', undefined, 1024],
    ['some-model', png(64, 64), undefined, 4],
  ])('%s, %.60s, %s: %i', (model, url, detail, tokens) => {
    expect(imageTokens({ url, ...(detail === undefined ? {} : { detail }) }, model)).toBe(tokens);
  });
});
