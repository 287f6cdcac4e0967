import type { CodexHomes } from '../codex/home/prepare-home.ts';
import { SignInSessions } from '../codex/login/sign-in-sessions.ts';
import type { Config } from '../config/schema.ts';
import { systemAmbient } from '../kit/ambient.ts';
import type { Logger } from '../observe/log.ts';
import { VERSION } from '../version.ts';
import type { ActiveBackend } from './active-backend.ts';

export interface SignInParts {
  readonly homes: CodexHomes;
  readonly active: Pick<ActiveBackend, 'look'>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly logger: Logger;
}

/** Sign-ins without a terminal. The active backend uses a new login at once. */
export const openSignIns = (
  config: Config,
  { homes, active, environment, logger }: SignInParts,
): SignInSessions =>
  new SignInSessions({
    binary: homes.binary,
    stateDir: config.state.dir,
    loginHome: homes.loginHome,
    login: homes.login,
    environment,
    clientInfo: { name: 'codex-app-server-proxy', title: null, version: VERSION },
    ambient: systemAmbient,
    async onChange() {
      // The first look may have begun before the change.
      await active.look();
      await active.look();
    },
    onTrouble: (err) => logger.error({ err }, 'codex could not sign in or out'),
    onEnd: ({ id, method, status, error }) =>
      logger.info({ signInId: id, method, status, ...(error === null ? {} : { error }) }, 'sign-in ended'),
  });

/** The setting that takes precedence over a login; null: there is none. */
export const overridesLogin = ({ upstream }: Pick<Config, 'upstream'>): string | null => {
  if (upstream.baseUrl !== null) return 'PROXY_UPSTREAM_BASE_URL';
  return upstream.accessToken === null ? null : 'CODEX_ACCESS_TOKEN';
};
