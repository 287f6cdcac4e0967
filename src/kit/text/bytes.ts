/** Converts bytes to text forms. The only pure file that uses Node's `Buffer`, for speed. */

export const fromBase64 = (text: string): Buffer => Buffer.from(text, 'base64');

export const fromUtf8 = (text: string): Buffer => Buffer.from(text);

export const toBase64Url = (text: string): string => Buffer.from(text).toString('base64url');
