import path from 'node:path';

/** For a process that runs our sources: half of the time of a short one is the compiling. */
export const COMPILE_CACHE = {
  NODE_COMPILE_CACHE: path.resolve(import.meta.dirname, '../../node_modules/.cache/node-compile'),
};
