import type { Config } from '../config/schema.ts';
import { createConsoleFiles } from '../http/console/console-files.ts';
import type { ConsoleDeps } from '../http/console/routes.ts';
import { Sessions } from '../http/console/sessions.ts';
import { SignInLimit } from '../http/guards/sign-in-limit.ts';
import { createVolatileMemory } from '../http/console/volatile-memory.ts';
import type { Authenticator } from '../http/guards/authenticate.ts';
import { createTrustedProxies } from '../http/guards/client-address.ts';
import { systemAmbient } from '../kit/ambient.ts';
import type { Store } from '../store/store.ts';
import { VERSION } from '../version.ts';

interface ConsoleParts {
  readonly byKey: Authenticator;
  readonly keyName: (keyId: string) => string | null;
  readonly store: Store | null;
}

/** The web console; null if it is turned off. Without a store its sessions end with the process. */
export const openConsole = (
  { console: mode, trustedProxies }: Pick<Config['http'], 'console' | 'trustedProxies'>,
  { byKey, keyName, store }: ConsoleParts,
): ConsoleDeps | null => {
  if (mode === 'off') return null;
  const { clock } = systemAmbient;
  return {
    mode,
    byKey,
    sessions: new Sessions({ memory: store?.memory ?? createVolatileMemory(clock), clock }),
    limit: new SignInLimit(clock),
    files: createConsoleFiles(),
    nameOf: keyName,
    proxies: createTrustedProxies(trustedProxies),
    version: VERSION,
  };
};
