import { describe, expect, it } from 'vitest';

import { knownModel, modelList } from '../../../test/support/models.ts';
import { unknownModel } from '../../canonical/models/model-names.ts';
import { readProviderModels } from './provider-list.ts';

const KNOWN = modelList([
  knownModel('gpt-best', { efforts: ['low'], contextWindow: 100, maxContextWindow: 200 }),
  knownModel('gpt-good', { efforts: ['high'] }),
]);
const NOTHING = modelList([]);

const standardOf = (...ids: readonly string[]) =>
  readProviderModels({ data: ids.map((id) => ({ id })) }, KNOWN)?.standard;

describe('readProviderModels', () => {
  it("keeps the provider's order and names, and adds codex's facts about a model", () => {
    expect(
      readProviderModels(
        {
          object: 'list',
          data: [
            { id: 'llama', object: 'model', created: 3, owned_by: 'meta', max_model_len: 4_096 },
            { id: 'gpt-good', object: 'model', created: 4, owned_by: 'openai' },
            { id: 'llama' },
          ],
        },
        KNOWN,
      ),
    ).toEqual({
      models: [
        { ...unknownModel('llama'), ownedBy: 'meta', created: 3, contextWindow: 4_096 },
        { ...knownModel('gpt-good', { efforts: ['high'] }), ownedBy: 'openai', created: 4 },
      ],
      standard: 'gpt-good',
      unlisted: [knownModel('gpt-best', { efforts: ['low'], contextWindow: 100, maxContextWindow: 200 })],
    });
  });

  it('reads the fields of aggregators', () => {
    const answer = {
      data: [
        {
          id: 'acme/one',
          context_length: 9,
          architecture: { input_modalities: ['text', 'image'], output_modalities: ['text'] },
          top_provider: { context_length: 8, max_completion_tokens: 7 },
        },
      ],
    };
    expect(readProviderModels(answer, NOTHING)?.models).toEqual([
      {
        ...unknownModel('acme/one'),
        ownedBy: 'provider',
        contextWindow: 9,
        maxOutputTokens: 7,
        inputModalities: ['text', 'image'],
      },
    ]);
  });

  it.each([
    ['a bare array', [{ id: 'a' }, { id: 'b' }]],
    ['names', { data: ['a', 'b'] }],
    ["another gateway's", { models: [{ name: 'a' }, { model: 'b' }] }],
    ["codex's own", { models: [{ slug: 'a' }, { slug: 'b' }] }],
    ['with rubbish in it', { data: [null, { id: '' }, { id: 7 }, { id: 'a' }, [], { id: 'b' }] }],
  ])('%s', (_what, answer) => {
    expect(readProviderModels(answer, NOTHING)?.models.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  it.each([[null], ['text'], [{}], [{ data: {} }], [{ data: [] }], [{ data: [{}] }], [{ error: {} }]])(
    'rejects %j',
    (answer) => {
      expect(readProviderModels(answer, KNOWN)).toBeNull();
    },
  );

  it.each([
    [['whisper-1', 'text-embedding-3', 'gpt-image-1', 'llama'], 'llama'],
    [['tts-1', 'omni-moderation-latest', 'rerank-2', 'qwen', 'llama'], 'qwen'],
    // codex's best known model precedes the provider's order.
    [['llama', 'gpt-good', 'gpt-best'], 'gpt-best'],
    [['text-embedding-3', 'whisper-1'], 'text-embedding-3'],
  ])('of %j the default is %s', (ids, expected) => {
    expect(standardOf(...ids)).toBe(expected);
  });

  it("uses the provider's statement about a model's purpose", () => {
    const data = [
      { id: 'a', type: 'embedding' },
      { id: 'b', architecture: { output_modalities: ['image'] } },
      { id: 'c', type: 'chat' },
    ];
    expect(readProviderModels({ data }, KNOWN)?.standard).toBe('c');
  });
});
