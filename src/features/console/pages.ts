import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { unknownUrl } from '../../http/answer/error-response.ts';
import { escapeHtml } from '../../http/front.ts';
import { isSafeAddress, UNSAFE_ADDRESS, type ConsoleMode } from './own-page.ts';

/** A file in the forms in which it can be sent. */
interface ConsoleFile {
  readonly type: string;
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly br: Uint8Array<ArrayBuffer> | null;
  readonly gzip: Uint8Array<ArrayBuffer> | null;
}

/** The files by their names below `/console`: `index.html`, `assets/index-1a2b.js`. */
type ConsoleFiles = ReadonlyMap<string, ConsoleFile>;

export interface PageDeps {
  readonly mode: ConsoleMode;
  readonly files: () => Promise<ConsoleFiles | null>;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const MAX_FILES = 500;

/**
 * Reads the built console once, when it is asked for the first time. Null: it is not built, which is checked again each
 * time.
 */
export const createConsoleFiles = (
  folder = new URL('../../../console/dist/', import.meta.url),
): (() => Promise<ConsoleFiles | null>) => {
  const root = fileURLToPath(folder);
  let files: Promise<ConsoleFiles | null> | null = null;
  return async () => {
    files ??= readFiles(root);
    const found = await files;
    if (found === null) files = null;
    return found;
  };
};

const readFiles = async (root: string): Promise<ConsoleFiles | null> => {
  try {
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    const names = entries
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
      .slice(0, MAX_FILES);
    const known = new Set(names);
    const bytes = (name: string): Promise<Uint8Array<ArrayBuffer>> => readFile(path.join(root, name));
    const optional = async (name: string): Promise<Uint8Array<ArrayBuffer> | null> =>
      known.has(name) ? bytes(name) : null;
    const served = names.flatMap((name) => {
      const type = TYPES[path.extname(name)];
      return type === undefined ? [] : [{ name, type }];
    });
    const read = served.map(async ({ name, type }): Promise<[string, ConsoleFile]> => [
      name,
      {
        type,
        plain: await bytes(name),
        br: await optional(`${name}.br`),
        gzip: await optional(`${name}.gz`),
      },
    ]);
    const files = new Map(await Promise.all(read));
    return files.has('index.html') ? files : null;
  } catch {
    // Not built, or being built.
    return null;
  }
};

const NOT_BUILT =
  'The console is not built. In a clone, run npm ci and then npm run console:build, and reload this page. The package of a release contains the console.';

/** A file, or for the address of a page the document that shows all pages. */
export const consolePage = async (
  http: Request,
  name: string,
  { files, mode }: PageDeps,
): Promise<Response> => {
  if (!isSafeAddress(http.headers, mode))
    return plainPage(403, 'The console is not served here', UNSAFE_ADDRESS);
  const built = await files();
  if (built === null) return plainPage(503, 'The console is not built', NOT_BUILT);
  const shown = name.startsWith('assets/') ? name : 'index.html';
  const file = built.get(shown);
  if (file === undefined) throw unknownUrl(http.method, new URL(http.url).pathname);
  return fileAnswer(shown, file, http.headers.get('accept-encoding'));
};

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
const fileAnswer = (name: string, file: ConsoleFile, acceptEncoding: string | null): Response => {
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
const plainPage = (status: number, title: string, text: string): Response =>
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
