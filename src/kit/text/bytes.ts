/** Bytes and their text forms. The only file of the pure layers that uses Node's `Buffer`: megabytes must be fast. */

export const fromBase64 = (text: string): Buffer => Buffer.from(text, 'base64');

export const fromUtf8 = (text: string): Buffer => Buffer.from(text);

export const toBase64Url = (text: string): string => Buffer.from(text).toString('base64url');
