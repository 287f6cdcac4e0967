import { describe, expect, it } from 'vitest';

import type { FormEntry } from '../../turns/api.ts';
import { editBodyOf } from './api.ts';

describe('editBodyOf', () => {
  const text = (name: string, value: string): FormEntry => ({ name, value, isFile: false });
  const file = (name: string, value: string): FormEntry => ({ name, value, isFile: true });

  it('converts a form to the equivalent JSON', () => {
    const form = [
      text('prompt', '7'),
      file('image[]', 'data:1'),
      file('image[1]', 'data:2'),
      file('image', 'data:3'),
      file('mask', 'data:4'),
      text('n', '2'),
      text('partial_images', ''),
      text('stream', 'true'),
      text('__proto__', 'x'),
    ];
    expect(editBodyOf(form)).toEqual({
      prompt: '7',
      image: [{ image_url: 'data:1' }, { image_url: 'data:2' }, { image_url: 'data:3' }],
      mask: { image_url: 'data:4' },
      n: 2,
      partial_images: '',
      stream: true,
      ['__proto__']: 'x',
    });
  });

  it.each([
    [[text('image', 'x')], "Invalid type for 'image': expected a file, but got text instead."],
    [[text('mask', 'x')], "Invalid type for 'mask': expected a file, but got text instead."],
    [[text('n', '1'), text('n', '2')], "Invalid 'n': the form has more than one part with this name."],
  ])('refuses %j', (form, message) => {
    expect(() => editBodyOf(form)).toThrow(message);
  });
});
