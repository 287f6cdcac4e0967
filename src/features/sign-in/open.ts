import type { Core, OpenFeature } from '../../compose/feature.ts';
import { VERSION } from '../../version.ts';
import type { SIGN_IN_TABLES } from './feature.ts';
import { signInRoutes } from './routes.ts';
import { SignInSessions } from './sign-in-sessions.ts';

/** The server uses a new login at once. */
export const openSignIn = async (core: Core): Promise<OpenFeature<typeof SIGN_IN_TABLES>> => {
  const { ambient, bodies, environment, logger, login, stateDir } = core;
  const { homes, overriddenBy } = login;
  const signIns = new SignInSessions({
    binary: homes.binary,
    stateDir,
    loginHome: homes.loginHome,
    login: homes.login,
    environment,
    clientInfo: { name: 'codex-app-server-proxy', title: null, version: VERSION },
    ambient,
    onChange: () => login.follow(),
    onTrouble: (err) => logger.error({ err }, 'codex could not sign in or out'),
    onEnd: ({ id, method, status, error }) =>
      logger.info({ signInId: id, method, status, ...(error === null ? {} : { error }) }, 'sign-in ended'),
  });
  return { routes: signInRoutes({ signIns, overriddenBy, bodies }), close: () => signIns.close() };
};
