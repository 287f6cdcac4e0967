import { createRequire } from 'node:module';

const { version, dependencies } = createRequire(import.meta.url)('../package.json') as {
  version: string;
  dependencies: { '@openai/codex': string };
};

/** Of this package. */
export const VERSION = version;

/** The version of codex that this package was tested with, and brings along. */
export const TESTED_CODEX = dependencies['@openai/codex'];
