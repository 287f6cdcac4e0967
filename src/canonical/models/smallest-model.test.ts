import { expect, it } from 'vitest';

import { unknownModel } from './model-names.ts';
import { smallestOf } from './smallest-model.ts';

it.each([
  [['gpt-5.5', 'gpt-5.4-mini', 'gpt-5.4-nano', 'gpt-5.3-nano'], 'gpt-5.4-nano'],
  [['gpt-6.1-sol', 'gpt-6-luna', 'gpt-5.6-luna', 'gpt-5.5'], 'gpt-6-luna'],
  [['gpt-5.3-codex', 'GPT-5.3-Codex-Spark', 'gpt-5.2'], 'GPT-5.3-Codex-Spark'],
  // Only whole words count, and only text models.
  [['text-embedding-3-small', 'gpt-4o-mini-tts', 'google/gemini-3-pro', 'acme/minimax'], 'acme/minimax'],
  [['qwen3:30b-a3b', 'llama-3.2-1.5b-instruct', 'llama-3.1-8b'], 'llama-3.2-1.5b-instruct'],
  [['best', 'good', 'text-embedding-9'], 'good'],
  [['text-embedding-9'], 'text-embedding-9'],
])('the smallest of %j is %s', (ids, smallest) => {
  expect(smallestOf(ids.map(unknownModel))?.id).toBe(smallest);
});

it('returns null for an empty list', () => {
  expect(smallestOf([])).toBeNull();
});
