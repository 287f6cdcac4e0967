import { escapeHtml } from '../front/escape-html.ts';
import type { ConsoleFile } from './console-files.ts';

/** Only files of this server load or run, and no other page can frame, open or read one. Images may also be those of a chat. */
const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** A name with a hash of the content never changes its content. */
const FOREVER = 'public, max-age=31536000, immutable';

const accepts = (header: string | null, coding: string): boolean =>
  (header ?? '').split(',').some((part) => {
    const [name = '', ...options] = part.trim().toLowerCase().split(';');
    return name.trim() === coding && !options.some((option) => /^\s*q=0(?:\.0*)?\s*$/.test(option));
  });

/** The file, compressed as the browser accepts it. */
export const fileAnswer = (name: string, file: ConsoleFile, acceptEncoding: string | null): Response => {
  const headers = {
    ...SAFE_HEADERS,
    'content-type': file.type,
    'cache-control': name.startsWith('assets/') ? FOREVER : 'no-cache',
    vary: 'accept-encoding',
  };
  if (file.br !== null && accepts(acceptEncoding, 'br'))
    return new Response(file.br, { headers: { ...headers, 'content-encoding': 'br' } });
  if (file.gzip !== null && accepts(acceptEncoding, 'gzip'))
    return new Response(file.gzip, { headers: { ...headers, 'content-encoding': 'gzip' } });
  return new Response(file.plain, { headers });
};

/** A page without script or style, for a console that cannot be shown. */
export const plainPage = (status: number, title: string, text: string): Response =>
  new Response(
    `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
</head>
<body>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(text)}</p>
</body>
</html>
`,
    {
      status,
      headers: { ...SAFE_HEADERS, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' },
    },
  );
