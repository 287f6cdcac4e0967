import { expect, it } from 'vitest';

import { knownModel, modelList } from '../../../test/support/models.ts';
import { turnRequest } from '../../../test/support/turn-request.ts';
import { failureOf } from '../../canonical/failure/failure.ts';
import { createModelNames } from '../../canonical/models/model-names.ts';
import type { Path } from '../../canonical/request/path.ts';
import { parameterName } from '../../apis/parameters.ts';
import { INSTRUCTIONS, toEditTurn, toImageTurn } from './to-turn.ts';

const models = createModelNames(
  modelList([knownModel('big', { efforts: ['low', 'high'] }), knownModel('small')], 'big'),
);
const options = { models, chatModel: 'codex-5' };
const image = { image_url: 'data:image/png;base64,AAAA' };

it('creates a turn that must call the image tool', () => {
  const { request, parsed, ignored } = toImageTurn(
    { prompt: 'An otter.', model: 'gpt-image-2', n: 2, svg: { model: 'm' }, odd: 1, user: 'ann' },
    options,
  );
  expect(request).toEqual(
    turnRequest({
      model: 'big',
      instructions: INSTRUCTIONS,
      items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'An otter.' }] }],
      tools: [
        {
          kind: 'hosted',
          raw: { type: 'image_generation', svg: { model: 'm' } },
          model: 'gpt-image-2',
        },
      ],
      toolChoice: { mode: 'named', tool: { kind: 'hosted', raw: { type: 'image_generation' } } },
      reasoning: { effort: 'low', summary: null, context: null },
      user: 'ann',
    }),
  );
  expect([parsed.model, parsed.n, ignored]).toEqual(['gpt-image-2', 2, ['odd']]);
});

it.each([
  ['codex-5-high', { model: 'big', effort: 'high' }],
  ['small', { model: 'small', effort: null }],
  ['other', { model: 'other', effort: null }],
])('is run by %s as its name says, with little effort if it says none', (chatModel, expected) => {
  const { request } = toImageTurn({ prompt: 'x' }, { models, chatModel });
  expect({ model: request.model, effort: request.reasoning.effort }).toEqual(expected);
});

it('puts images after the prompt, and uses the parameter names of the client', () => {
  const paths: readonly Path[] = [
    { file: { item: 0, of: 'content', part: 0 } },
    { file: { item: 0, of: 'content', part: 2 } },
    { toolField: { tool: 0, field: 'input_image_mask' } },
    { toolField: { tool: 0, field: 'model' } },
  ];
  for (const place of ['image', 'images']) {
    const { request, names } = toEditTurn({ prompt: 'x', [place]: [image, image], mask: image }, options);
    expect(request.items).toMatchObject([{ parts: [{ text: 'x' }, { kind: 'image' }, { kind: 'image' }] }]);
    expect(request.tools).toEqual([
      {
        kind: 'hosted',
        raw: { type: 'image_generation', action: 'edit' },
        mask: { kind: 'image', url: image.image_url },
      },
    ]);
    expect(paths.map((path) => parameterName(path, names))).toEqual([
      'prompt',
      `${place}[1]`,
      'mask',
      'model',
    ]);
  }
});

it.each([
  [{ prompt: '' }, 'string_below_min_length', 'prompt'],
  [{ prompt: 'x'.repeat(32_001) }, 'string_above_max_length', 'prompt'],
  [{}, 'missing_required_parameter', 'prompt'],
  [{ prompt: 'x', n: 11 }, 'integer_above_max_value', 'n'],
  [{ prompt: 'x', partial_images: 4 }, 'integer_above_max_value', 'partial_images'],
  [{ prompt: 'x', output_compression: 101 }, 'integer_above_max_value', 'output_compression'],
  [{ prompt: 'x', response_format: 'url' }, 'unsupported_value', 'response_format'],
  [{ prompt: 'x', response_format: 'gif' }, 'invalid_value', 'response_format'],
])('refuses what is wrong (%#)', (body, code, param) => {
  for (const read of [
    () => toImageTurn(body, options),
    () => toEditTurn({ images: [image], ...body }, options),
  ]) {
    expect(codeOf(read)).toEqual({ code, param });
  }
});

const codeOf = (read: () => unknown): unknown => {
  try {
    return read();
  } catch (error) {
    const { code, param } = failureOf(error);
    return { code, param };
  }
};
