import { route, type Route } from '../route.ts';
import { unknownUrl } from '../answer/unknown-url.ts';
import type { ConsoleFiles } from './console-files.ts';
import { isSafeAddress, UNSAFE_ADDRESS, type ConsoleMode } from './own-page.ts';
import { sessionRoutes, type SessionRouteDeps } from './session-routes.ts';
import { fileAnswer, plainPage } from './static-answer.ts';

export interface ConsoleDeps extends SessionRouteDeps {
  readonly mode: ConsoleMode;
  readonly files: () => Promise<ConsoleFiles | null>;
}

/** The pages of the console and its sessions. They need no key: pages hold no data, and read it with the session. */
export const consoleRoutes = (deps: ConsoleDeps): readonly Route[] => [
  ...sessionRoutes(deps),
  route('GET /console', { access: 'open' }, (http) => page(http, '', deps)),
  route('GET /console/:path{.*}', { access: 'open' }, (http, _exchange, params) =>
    page(http, params['path'] ?? '', deps),
  ),
];

const NOT_BUILT =
  'The console is not built. In a clone, run npm ci and then npm run console:build, and reload this page. The package of a release contains the console.';

/** A file, or for the address of a page the document that shows all pages. */
const page = async (http: Request, path: string, { files, mode }: ConsoleDeps): Promise<Response> => {
  if (!isSafeAddress(http.headers, mode))
    return plainPage(403, 'The console is not served here', UNSAFE_ADDRESS);
  const built = await files();
  if (built === null) return plainPage(503, 'The console is not built', NOT_BUILT);
  const name = path.startsWith('assets/') ? path : 'index.html';
  const file = built.get(name);
  if (file === undefined) throw unknownUrl(http.method, new URL(http.url).pathname);
  return fileAnswer(name, file, http.headers.get('accept-encoding'));
};
