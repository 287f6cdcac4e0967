import { describe, expect, it } from 'vitest';

import { textOfFile } from './text-file.ts';

const base64 = (content: string | Uint8Array): string => Buffer.from(content).toString('base64');
const dataUrl = (type: string, content: string | Uint8Array): string =>
  `data:${type};base64,${base64(content)}`;
const read = (file_data: string, filename: string | null = null) =>
  textOfFile({
    kind: 'file',
    raw: { type: 'input_file', file_data, ...(filename === null ? {} : { filename }) },
  });

describe('textOfFile', () => {
  it.each([
    ['plain text', dataUrl('text/plain', 'hi'), 'hi'],
    ['JSON', dataUrl('application/json', '{"a":1}'), '{"a":1}'],
    ['Markdown with a charset', dataUrl('text/markdown;charset=utf-8', '# Grüße 😀'), '# Grüße 😀'],
    [
      'source code under the type that a platform guesses',
      dataUrl('video/mp2t', 'const a = 1;'),
      'const a = 1;',
    ],
    ['source code of no known type', dataUrl('application/octet-stream', 'fn main() {}'), 'fn main() {}'],
    ['SVG, which is text', dataUrl('image/svg+xml', '<svg/>'), '<svg/>'],
    ['no type at all', `data:;base64,${base64('a')}`, 'a'],
    ['bare base64', base64('bare'), 'bare'],
    [
      'base64 for URLs, with line ends',
      `${base64('subjects?>')}\n`.replace('+', '-').replace('/', '_'),
      'subjects?>',
    ],
    ['percent encoding', 'data:text/plain,a%20b%C3%A9', 'a bé'],
    ['a byte order mark is taken off', dataUrl('text/csv', '\uFEFFa,b'), 'a,b'],
    ['an empty file', dataUrl('text/plain', ''), ''],
  ])('%s', (_, fileData, text) => {
    expect(read(fileData)).toEqual({ kind: 'text', text });
    expect(read(fileData, 'a.txt')).toEqual({ kind: 'text', text: `a.txt:\n\n${text}` });
  });

  it.each([
    ['a PDF by its type', dataUrl('application/pdf', 'not really')],
    ['a PDF by its content', dataUrl('text/plain', '%PDF-1.7 …')],
    ['an image', dataUrl('image/png', 'x')],
    ['an MPEG stream', dataUrl('video/mp2t', Uint8Array.of(0x47, 0x40, 0x00, 0x10))],
    [
      'a Word document',
      dataUrl('application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'x'),
    ],
    ['a zip', dataUrl('application/zip', 'x')],
    ['zero bytes', dataUrl('text/plain', 'a\0b')],
    ['bytes that are no UTF-8', dataUrl('text/plain', Uint8Array.of(0xff, 0xfe, 0x41))],
  ])('%s is not text', (_, fileData) => {
    expect(read(fileData, 'paper')).toBe('not-text');
  });

  it.each([
    'data:text/plain;base64,###',
    'not base64!',
    'data:text/plain,%E0%A4%A',
    `data:${';'.repeat(8_000_000)}`,
  ])('%.30s cannot be decoded', (fileData) => {
    expect(read(fileData, 'a.txt')).toBe('not-data');
  });

  it('does not read a file that is not inline', () => {
    expect(textOfFile({ kind: 'file', raw: { type: 'input_file', file_id: 'file_1' } })).toBe('elsewhere');
  });
});
