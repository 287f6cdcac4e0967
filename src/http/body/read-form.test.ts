import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { failureOf } from '../../canonical/failure/failure.ts';
import { isForm, readForm } from './read-form.ts';

const requestOf = (body: FormData | string, headers: Record<string, string> = {}): Request =>
  new Request('http://proxy.test/', { method: 'POST', body, headers });
const written = (body: string): Request =>
  requestOf(body, { 'content-type': 'multipart/form-data; boundary=b' });

const refusal = async (request: Request, maxBytes = 1e8): Promise<unknown> => {
  try {
    return await readForm(request, { maxBytes });
  } catch (error) {
    const { code, message } = failureOf(error);
    return `${code}: ${message}`;
  }
};

const field = (name: string, value: string): string =>
  `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;

it('recognises a form by its content type', () => {
  expect(isForm(requestOf(new FormData()))).toBe(true);
  expect(isForm(requestOf('', { 'content-type': 'Multipart/Form-Data;boundary=b' }))).toBe(true);
  expect(isForm(requestOf('{}', { 'content-type': 'application/json' }))).toBe(false);
  expect(isForm(requestOf('', { 'content-type': 'multipart/form-data-x' }))).toBe(false);
});

it('reads texts, and files as data URLs', async () => {
  const form = new FormData();
  form.append('prompt', 'Grüße\r\n--');
  form.append('image[]', new File([new Uint8Array([0, 13, 10, 255])], 'ä "x".png'));
  form.append('image[]', new File([], 'empty'));
  expect(await readForm(requestOf(form), { maxBytes: 10_000 })).toEqual([
    { name: 'prompt', value: 'Grüße\r\n--', isFile: false },
    { name: 'image[]', value: 'data:image/png;base64,AA0K/w==', isFile: true },
    { name: 'image[]', value: 'data:image/png;base64,', isFile: true },
  ]);
});

it('rejects a body that is not a form, is too large, or has too many parts', async () => {
  expect(await refusal(written('no form'))).toContain('invalid_form: ');
  expect(await refusal(written(field('a', 'x')))).toContain('invalid_form: ');
  expect(await refusal(requestOf('x', { 'content-type': 'multipart/form-data' }))).toContain(
    'invalid_form: ',
  );
  expect(await refusal(written(`${field('a', 'x')}--b--\r\n`), 10)).toContain('request_too_large: ');
  expect(await refusal(written(`${field('a', 'x').repeat(101)}--b--\r\n`))).toBe(
    'invalid_form: The form has too many parts: at most 100 are allowed.',
  );
});

it('stops at the last allowed part', async () => {
  const most = field('a', 'x').repeat(100);
  expect(await readForm(written(`${most}--b--\r\n`), { maxBytes: 10_000 })).toHaveLength(100);
  // Nothing after it could be parsed.
  expect(await refusal(written(`${most}${field('a', 'x')}--b\r\nnonsense`))).toBe(
    'invalid_form: The form has too many parts: at most 100 are allowed.',
  );
});

it('rejects half a million parts after the first 101', async () => {
  const many = written(`${field('a', 'x').repeat(500_000)}--b--\r\n`);
  expect(await refusal(many)).toBe('invalid_form: The form has too many parts: at most 100 are allowed.');
});

it('rejects a part without a name, and one with endless headers', async () => {
  const nameless = '--b\r\ncontent-disposition: form-data\r\n\r\nx\r\n--b--\r\n';
  expect(await refusal(written(nameless))).toBe('invalid_form: A part of the form has no name.');
  const long = `${field('%22%0A'.repeat(3_000_000), 'x')}--b--\r\n`;
  expect(await refusal(written(long))).toContain('invalid_form: ');
});

const part = (headers: string, value: string): string => `--b\r\n${headers}\r\n\r\n${value}\r\n`;
const NAMED = 'content-disposition: form-data; name="a"';

it.each([
  ['a part without a content-disposition', part('content-type: text/plain', 'x')],
  ['a part with another disposition', part('content-disposition: attachment; name="a"', 'x')],
  ['a part with a malformed disposition', part('content-disposition: form-data; name="a', 'x')],
  ['a text that contains the delimiter', field('a', 'x\r\n--better\r\ny')],
  ['parts after the end', `${field('a', 'x')}--b--\r\n${field('c', 'y')}`],
  ['two ends', `${field('a', 'x')}--b--\r\n`],
  ['text before the form', `y\r\n${field('a', 'x')}`],
  ['an unknown charset', part(`${NAMED}\r\ncontent-type: text/plain; charset=x-other`, 'x')],
  [
    'an unsupported transfer encoding',
    part(`${NAMED}\r\ncontent-transfer-encoding: quoted-printable`, 'x=3D'),
  ],
])('rejects %s, which the parser would drop or change', async (_, body) => {
  expect(await refusal(written(`${body}--b--\r\n`))).toContain('invalid_form: ');
});

it('rejects text after the end', async () => {
  expect(await refusal(written(`${field('a', 'x')}--b--\r\ny`))).toContain('invalid_form: ');
});

it('finds delimiters at every place of a slice', async () => {
  for (let length = 65_478; length < 65_492; length += 1) {
    const body = `${field('a', 'x'.repeat(length))}${part('x: y', 'x')}--b--`;
    expect(await refusal(written(body))).toContain('invalid_form: ');
    expect(await readForm(written(body.replace('x: y', NAMED)), { maxBytes: 1e6 })).toHaveLength(2);
  }
});

it('decodes base64, and accepts a leading line break and other parameters of the type', async () => {
  const encoded = (headers: string): string =>
    part(`${headers}\r\ncontent-transfer-encoding: Base64 `, 'R3LDvMOfZQ==');
  const body = `\r\n${encoded(NAMED)}${encoded(`${NAMED}; filename="f"`)}--b--`;
  const type = 'multipart/form-data; charset=utf-8; boundary="b"; ';
  expect(await readForm(requestOf(body, { 'content-type': type }), { maxBytes: 1e6 })).toEqual([
    { name: 'a', value: 'Grüße', isFile: false },
    { name: 'a', value: 'data:image/png;base64,R3LDvMOfZQ==', isFile: true },
  ]);
});

it('handles a form truncated anywhere', async () => {
  const file = '--b\r\ncontent-disposition: form-data; name="f"; filename="f"\r\n\r\nx\r\n';
  const odd = '--b\r\ncontent-type: text/plain\r\n\r\nx\r\n';
  const whole = `${field('a', 'x')}${file}${odd}${file}--b--\r\n`;
  for (let end = 0; end < whole.length - 4; end += 1) {
    expect(await refusal(written(whole.slice(0, end)))).toContain('invalid_form: ');
  }
});

/** Pieces that a parser of forms could misread. */
const piece = fc.oneof(
  fc.constantFrom(
    '--b',
    '--b--',
    '\r\n',
    '\r',
    '\n',
    '\r\n\r\n',
    '"',
    '\\',
    ';',
    ':',
    '\0',
    '; name="a"',
    'é',
  ),
  fc.constantFrom(field('a', 'x'), 'content-disposition: form-data', 'content-transfer-encoding: base64'),
  fc.constantFrom("filename*=utf-8''%E4%zz", 'filename="../x"', 'content-type: text/plain; charset=nonsense'),
  fc.string({ unit: 'binary', maxLength: 20 }),
);

it('reads every form that a client writes', async () => {
  const entry = fc.tuple(
    // Clients escape these characters in names, each in its own way; no field has them.
    fc.stringMatching(/^[^"\\\r\n%]+$/),
    fc.oneof(fc.string({ unit: 'binary' }), fc.uint8Array()),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { minLength: 1, maxLength: 20 }), async (entries) => {
      const form = new FormData();
      for (const [name, value] of entries) {
        if (typeof value === 'string') form.append(name, value);
        else form.append(name, new File([value], 'f'));
      }
      const sent = await new Response(form).formData();
      const parts = await Promise.all(
        [...sent].map(async ([name, value]) =>
          typeof value === 'string'
            ? { name, value, isFile: false }
            : {
                name,
                value: `data:image/png;base64,${Buffer.from(await value.arrayBuffer()).toString('base64')}`,
                isFile: true,
              },
        ),
      );
      expect(await readForm(requestOf(form), { maxBytes: 1e6 })).toEqual(parts);
    }),
  );
});

it('reads or rejects whatever is sent as a form', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 30 }), async (pieces) => {
      const result = await refusal(written(`--b\r\n${pieces.join('')}\r\n--b--\r\n`));
      if (typeof result === 'string') expect(result).toMatch(/^invalid_form: /);
      else expect(result).not.toEqual([]);
    }),
    { numRuns: 1000 },
  );
});

it('yields while parsing a large form', async () => {
  const form = new FormData();
  form.append('image', new File([new Uint8Array(30_000_000)], 'large.png'));
  let turns = 0;
  const others = setInterval(() => {
    turns += 1;
  });
  const entries = await readForm(requestOf(form), { maxBytes: 1e8 });
  clearInterval(others);
  expect(entries[0]?.value.length).toBe('data:image/png;base64,'.length + 40_000_000);
  expect(turns).toBeGreaterThan(0);
});

it('stops when the request is aborted', async () => {
  const body = new FormData();
  body.append('image', new File([new Uint8Array(1_000_000)], 'large.png'));
  const gone = new AbortController();
  const read = readForm(requestOf(body), { maxBytes: 1e8, signal: gone.signal });
  gone.abort(new Error('gone'));
  await expect(read).rejects.toThrow('gone');
});
