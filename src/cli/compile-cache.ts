import { readdir, rm } from 'node:fs/promises';
import module from 'node:module';
import path from 'node:path';

import { exists, makePrivateDirectory } from '../codex/home/files.ts';
import { untrusted } from '../codex/home/trusted-path.ts';
import { absolutePath, DEFAULT_STATE_DIR } from '../config/paths.ts';

/** Several versions of Node with all modules, some 60 MB. Files of earlier versions of this server stay until then. */
const MAX_FILES = 6_000;

/**
 * Has Node keep compiled code in the state directory, which is most of the work of a start: a clone removes the types of
 * its sources, too. Node writes it when the process ends. It is code that runs, so it is only kept where no other user can
 * write: not before the first start has made the state directory, and not if `NODE_COMPILE_CACHE` names another folder.
 */
export const keepCompiled = async (
  environment: Readonly<Record<string, string | undefined>>,
  { enable = (folder: string): void => void module.enableCompileCache(folder), maxFiles = MAX_FILES } = {},
): Promise<void> => {
  const { NODE_COMPILE_CACHE, PROXY_STATE_DIR } = environment;
  if ((NODE_COMPILE_CACHE ?? '') !== '') return;
  try {
    const stateDir = absolutePath(PROXY_STATE_DIR?.trim() || DEFAULT_STATE_DIR, process.cwd());
    const folder = path.join(stateDir, 'compile-cache');
    if (!(await exists(stateDir)) || (await untrusted(folder)) !== null) return;
    await makePrivateDirectory(folder);
    const names = await readdir(folder, { recursive: true });
    if (names.length > maxFiles) {
      await rm(folder, { recursive: true });
      // Node would make it with the rights of any other folder.
      await makePrivateDirectory(folder);
    }
    enable(folder);
  } catch {
    // A start without it only takes longer; one that cannot use the state directory says so later.
  }
};
