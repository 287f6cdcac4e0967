import { expect, it } from 'vitest';

import { describeItem } from './describe-item.ts';

const described = (type: string, fields: object): unknown => describeItem({ id: 'i', type, ...fields });

it('shows messages with texts, images and files', () => {
  const content = [
    { type: 'input_text', text: 'What is it?' },
    { type: 'input_image', image_url: 'data:image/png;base64,AA' },
    { type: 'input_image', image_url: 'https://elsewhere.test/a.png' },
    { type: 'input_file', filename: 'a.pdf' },
  ];
  expect(described('message', { role: 'user', content })).toEqual({
    title: 'User',
    tone: 'user',
    isFolded: false,
    pieces: [
      { kind: 'text', text: 'What is it?' },
      { kind: 'image', url: 'data:image/png;base64,AA' },
      // The page loads nothing from elsewhere.
      { kind: 'text', text: '[Image: https://elsewhere.test/a.png]' },
      { kind: 'text', text: '[File: a.pdf]' },
    ],
  });
});

it('shows calls of tools and their outputs, with JSON indented', () => {
  const call = { name: 'get_weather', arguments: '{"city":"Paris"}' };
  expect(described('function_call', call)).toEqual({
    title: 'Tool call: get_weather',
    tone: 'tool',
    isFolded: false,
    pieces: [{ kind: 'code', text: '{\n  "city": "Paris"\n}' }],
  });
  expect(described('function_call_output', { output: 'not JSON' })).toMatchObject({
    title: 'Tool output',
    pieces: [{ kind: 'code', text: 'not JSON' }],
  });
});

it('folds reasoning, instructions and what it does not know', () => {
  expect(described('reasoning', { summary: [] })).toMatchObject({
    isFolded: true,
    pieces: [{ kind: 'text', text: 'No summary.' }],
  });
  expect(described('message', { role: 'developer', content: 'Be brief.' })).toMatchObject({
    title: 'Developer',
    isFolded: true,
    pieces: [{ kind: 'text', text: 'Be brief.' }],
  });
  expect(described('new_kind', { a: 1 })).toMatchObject({ title: 'new kind', isFolded: true });
  expect(described('image_generation_call', { result: 'AA' })).toMatchObject({
    pieces: [{ kind: 'image', url: 'data:image/png;base64,AA' }],
  });
});
