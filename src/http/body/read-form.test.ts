import { afterAll, expect, it } from 'vitest';

import { failureOf } from '../../canonical/failure/failure.ts';
import { createForms, isForm } from './read-form.ts';

const forms = createForms();
const hurried = createForms({ timeoutMs: 1 });
afterAll(() => Promise.all([forms.close(), hurried.close()]));

const requestOf = (body: FormData | string, headers: Record<string, string> = {}): Request =>
  new Request('http://proxy.test/', { method: 'POST', body, headers });
const written = (body: string): Request =>
  requestOf(body, { 'content-type': 'multipart/form-data; boundary=b' });

const refusal = async (request: Request, by = forms, maxBytes = 1e8): Promise<unknown> => {
  try {
    return await by.read(request, { maxBytes });
  } catch (error) {
    const { code, message } = failureOf(error);
    return `${code}: ${message}`;
  }
};

const field = (name: string, value: string): string =>
  `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;

it('knows a form by its type', () => {
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
  expect(await forms.read(requestOf(form), { maxBytes: 10_000 })).toEqual([
    { name: 'prompt', value: 'Grüße\r\n--', isFile: false },
    { name: 'image[]', value: 'data:image/png;base64,AA0K/w==', isFile: true },
    { name: 'image[]', value: 'data:image/png;base64,', isFile: true },
  ]);
});

it('refuses what is none, is too large, or has too many parts', async () => {
  expect(await refusal(written('no form'))).toContain('invalid_form: ');
  expect(await refusal(written(field('a', 'x')))).toContain('invalid_form: ');
  expect(await refusal(requestOf('x', { 'content-type': 'multipart/form-data' }))).toContain(
    'invalid_form: ',
  );
  expect(await refusal(written(`${field('a', 'x')}--b--\r\n`), forms, 10)).toContain('request_too_large: ');
  expect(await refusal(written(`${field('a', 'x').repeat(101)}--b--\r\n`))).toBe(
    'invalid_form: The form has too many parts: at most 100 are allowed.',
  );
});

/** Node's parser decodes the name step by step: some seconds. */
const slow = (): Request => written(`${field('%22%0A'.repeat(3_000_000), 'x')}--b--\r\n`);

it('stops at the last part that is allowed', async () => {
  const most = field('a', 'x').repeat(100);
  expect(await forms.read(written(`${most}--b--\r\n`), { maxBytes: 10_000 })).toHaveLength(100);
  // Behind it there is nothing that could be parsed.
  expect(await refusal(written(`${most}${field('a', 'x')}--b\r\nnonsense`))).toBe(
    'invalid_form: The form has too many parts: at most 100 are allowed.',
  );
});

it('does not let the forms of one key wait for those of another', async () => {
  const own = createForms();
  const room = (caller: string) => ({ caller, start: async () => {}, grow: () => {} });
  const order: string[] = [];
  const read = async (caller: string, form: Request): Promise<unknown> => {
    const entries = await own.read(form, { maxBytes: 1e8, room: room(caller) }).catch(failureOf);
    order.push(caller);
    return entries;
  };
  const large = Array.from({ length: 6 }, () => read('a', slow()));
  expect(await read('b', written(`${field('a', 'x')}--b--\r\n`))).toEqual([
    { name: 'a', value: 'x', isFile: false },
  ]);
  expect(order.filter((caller) => caller === 'a').length).toBeLessThan(6);
  await own.close();
  await Promise.all(large);
});

it('does not wait for one that takes for ever', async () => {
  expect(await refusal(slow(), hurried)).toBe(
    'invalid_form: Parsing the form of the request takes too long.',
  );
  expect(await refusal(written(`${field('a', 'x')}--b--\r\n`))).toEqual([
    { name: 'a', value: 'x', isFile: false },
  ]);
});
