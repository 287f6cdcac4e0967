import type { Core, OpenFeature, Own } from '../../compose/feature.ts';
import { SignInLimit } from '../../http/guards/sign-in-limit.ts';
import { VERSION } from '../../version.ts';
import type { CONSOLE_TABLES } from './feature.ts';
import { isPrivate } from './own-page.ts';
import { consolePage, createConsoleFiles, type PageDeps } from './pages.ts';
import { acceptSessions, sessionRoutes, type SessionRouteDeps } from './session-routes.ts';
import { createVolatileMemory, Sessions } from './sessions.ts';

export type ConsoleDeps = PageDeps & SessionRouteDeps;

/** Accepts sessions besides keys. Without a store its sessions end with the process. */
export const openConsole = async (
  { ambient: { clock }, proxies, store }: Core,
  { settings: { console: mode }, offers }: Own<typeof CONSOLE_TABLES>,
): Promise<OpenFeature<typeof CONSOLE_TABLES>> => {
  if (mode === 'off') return { offers: { isPrivate } };
  const { authenticate: byKey, keyName } = offers;
  const sessions = new Sessions({ memory: store?.memory ?? createVolatileMemory(clock), clock });
  return {
    routes: consoleRoutes({
      mode,
      byKey,
      sessions,
      limit: new SignInLimit(clock),
      files: createConsoleFiles(),
      nameOf: keyName,
      proxies,
      version: VERSION,
    }),
    offers: { isPrivate, hasConsole: true, authenticate: acceptSessions(byKey, sessions, mode) },
  };
};

/** The pages of the console and its sessions. They need no key: pages hold no data, and read it with the session. */
export const consoleRoutes = (
  deps: ConsoleDeps,
): NonNullable<OpenFeature<typeof CONSOLE_TABLES>['routes']> => ({
  ...sessionRoutes(deps),
  'GET /console': (http) => consolePage(http, '', deps),
  'GET /console/:path{.*}': (http, _exchange, { path = '' }) => consolePage(http, path, deps),
});
