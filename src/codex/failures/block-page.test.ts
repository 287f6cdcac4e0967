import { expect, it } from 'vitest';

import { isBlockPage } from './block-page.ts';

const page = (title: string, body = ''): string =>
  `<!DOCTYPE html><html lang="en-US"><head><title>${title}</title></head><body>${body}</body></html>`;
const challenge = page('Just a moment...', '<script src="/cdn-cgi/challenge-platform/h/b"></script>');

it.each<readonly [string, number | null, string, string | null, boolean]>([
  ['a challenge', 403, challenge, 'challenge', true],
  ['a challenge without its header', 403, challenge, null, true],
  ['a challenge with another status', 503, `\n ${challenge}`, null, true],
  ['any page with the header', 429, page('x'), 'challenge', true],
  ['a ban', 403, page('Attention Required! | Cloudflare'), null, true],
  ['a limit of the network', 429, page('Access denied | x used Cloudflare to restrict access'), null, true],
  ['the short form', 403, 'error code: 1020', null, true],
  ['a page of the upstream', 403, page('Forbidden'), null, false],
  ['an error of the upstream', 403, '{"error":{"message":"just a moment"}}', 'challenge', false],
  ['a gateway that broke', 502, page('Bad gateway | Cloudflare'), null, false],
  ['an answer', 200, challenge, null, false],
  ['something in a stream', null, challenge, null, false],
])('%s', (_, status, body, mitigated, expected) => {
  expect(isBlockPage(status, body, mitigated)).toBe(expected);
});
