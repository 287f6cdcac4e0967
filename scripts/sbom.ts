/**
 * Writes `dist/sbom.json`, a CycloneDX list of the installed packages, from the lock file. `npm pack` runs it after the
 * build. The output is reproducible.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import { reproducible } from './release/reproducible-sbom.ts';

const ROOT = path.join(import.meta.dirname, '..');

const { stdout } = await promisify(execFile)(
  'npm',
  ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--package-lock-only'],
  { cwd: ROOT, maxBuffer: 64 * 1024 * 1024, shell: process.platform === 'win32' },
);
await writeFile(path.join(ROOT, 'dist/sbom.json'), `${reproducible(stdout)}\n`);
