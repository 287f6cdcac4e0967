import { describe, expect, it } from 'vitest';
import { deltasOf } from './script-step.ts';
describe('deltasOf', () => {
  it.each([
    ['words', 'Hello,  you\nthere ', {}, ['Hello,', '  you', '\nthere ']],
    ['only space', '  ', {}, ['  ']],
    ['nothing', '', {}, []],
    ['chunks of whole characters', 'a😀😀b', { chunkSize: 2 }, ['a😀', '😀b']],
    ['line breaks in chunks', 'a\nb', { chunkSize: 2 }, ['a\n', 'b']],
    ['given deltas', 'abc', { deltas: ['ab', 'c'] }, ['ab', 'c']],
  ])('%s', (_name, text, pace, deltas) => {
    expect(deltasOf(text, pace)).toEqual(deltas);
  });
});
