/** Builds the console into `console/dist`: `npm run console:build`. */
import path from 'node:path';

const ROOT = path.join(import.meta.dirname, '..');

/** Prints nothing on standard output, which belongs to the JSON of `npm pack`. */
export const buildConsole = async (): Promise<void> => {
  const { build } = await import('vite');
  await build({ configFile: path.join(ROOT, 'console/vite.config.ts'), logLevel: 'warn' });
};

/**
 * npm's `prepare`: runs after an installation from a clone and before the package is packed. An installation without
 * development packages has no vite: then the server runs without the console.
 */
export const prepareConsole = async (): Promise<void> => {
  const hasVite = await import('vite').then(
    () => true,
    () => false,
  );
  if (hasVite) await buildConsole();
  else console.error('The console is not built: vite, a development package, is not installed.');
};

if (import.meta.main) await buildConsole();
