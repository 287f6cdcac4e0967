import { describe, expect, it } from 'vitest';

import { knownModel } from '../../test/support/models.ts';
import { createModelNames, unknownModel } from '../canonical/models/model-names.ts';
import { findModel } from './model-names.ts';

const LIST = {
  models: [
    knownModel('gpt-5.5', { efforts: ['low', 'high'], serviceTiers: ['priority'] }),
    knownModel('gpt-5.5-mini', { efforts: [] }),
    knownModel('anthropic/claude-sonnet-4', { efforts: [] }),
  ],
  standard: 'gpt-5.5',
  unlisted: [knownModel('gpt-4', { efforts: [] })],
};
const NAMES = createModelNames(LIST, { 'claude-opus-5-5': 'gpt-5.5-high', sonnet: 'gpt-5.5-mini' });

const plain = (model: string) => ({ model, effort: null, serviceTier: null });

describe('findModel', () => {
  it.each([
    // Configured aliases and listed models come first.
    ['claude-opus-5-5', { ...plain('gpt-5.5'), effort: 'high' }],
    ['claude-opus-5-5[1m]', { ...plain('gpt-5.5'), effort: 'high' }],
    ['sonnet', plain('gpt-5.5-mini')],
    ['gpt-5.5', plain('gpt-5.5')],
    ['anthropic/claude-sonnet-4', plain('anthropic/claude-sonnet-4')],
    ['claude-gpt-5.5', plain('gpt-5.5')],
    ['claude-gpt-5.5-mini', plain('gpt-5.5-mini')],
    ['anthropic/claude-gpt-5.5-low-fast', { ...plain('gpt-5.5'), effort: 'low', serviceTier: 'priority' }],
    ['claude-sonnet', plain('gpt-5.5-mini')],
    ['claude-gpt-4', plain('gpt-4')],
    ['claude-haiku-5-5', plain('gpt-5.5-mini')],
    ['us.anthropic.Claude-3-5-Haiku-20241022-v1:0', plain('gpt-5.5-mini')],
    ['claude-sonnet-5-5', plain('gpt-5.5')],
    ['claude-sonnet-5-5[1m]', plain('gpt-5.5')],
    ['anthropic/claude-opus-4', plain('gpt-5.5')],
    ['CLAUDE', plain('gpt-5.5')],
    // The backend decides about other names.
    ['llama-4', plain('llama-4')],
    ['llama-4[1m]', plain('llama-4')],
    ['gpt-4', plain('gpt-4')],
  ])('%s', (asked, meaning) => {
    const info = [...LIST.models, ...LIST.unlisted].find(({ id }) => id === meaning.model);
    expect(findModel(NAMES, asked)).toEqual({
      id: asked,
      meaning,
      info: info ?? unknownModel(meaning.model),
    });
  });

  it('sends a Claude name to a backend whose models are unknown', () => {
    const names = createModelNames({ models: [], standard: null, unlisted: [] });
    expect(findModel(names, 'claude-haiku-5-5').meaning).toEqual(plain('claude-haiku-5-5'));
  });
});
