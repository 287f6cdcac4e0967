import type { Config } from '../config/schema.ts';
import { createConsoleFiles } from '../http/console/console-files.ts';
import type { ConsoleDeps } from '../http/console/routes.ts';
import { Sessions } from '../http/console/sessions.ts';
import { SignInLimit } from '../http/console/sign-in-limit.ts';
import { createVolatileMemory } from '../http/console/volatile-memory.ts';
import type { Authenticator } from '../http/guards/authenticate.ts';
import { systemAmbient } from '../kit/system-ambient.ts';
import type { Store } from '../store/store.ts';
import { VERSION } from '../version.ts';

/** The web console; null if it is turned off. Without a store its sessions end with the process. */
export const openConsole = (
  mode: Config['http']['console'],
  byKey: Authenticator,
  store: Store | null,
): ConsoleDeps | null => {
  if (mode === 'off') return null;
  const { clock } = systemAmbient;
  return {
    mode,
    byKey,
    sessions: new Sessions({ memory: store?.memory ?? createVolatileMemory(clock), clock }),
    limit: new SignInLimit(clock),
    files: createConsoleFiles(),
    version: VERSION,
  };
};
