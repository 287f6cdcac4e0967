/** Removes the output of an earlier build, so that a package contains only this one. */
import { rm } from 'node:fs/promises';
import path from 'node:path';

await rm(path.join(import.meta.dirname, '../dist'), { recursive: true, force: true });
