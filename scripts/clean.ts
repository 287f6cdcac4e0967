/** Removes what an earlier build left: a package holds nothing but what this build makes. */
import { rm } from 'node:fs/promises';
import path from 'node:path';

await rm(path.join(import.meta.dirname, '../dist'), { recursive: true, force: true });
