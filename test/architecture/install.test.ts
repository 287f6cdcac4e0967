import { readFileSync } from 'node:fs';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

/** What `npm ci` brings is what the lock file holds the hash of, and nothing of it runs while it is installed. */

const ROOT = path.join(import.meta.dirname, '../..');

interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: true;
  readonly link?: true;
  readonly optional?: true;
}

const read = (name: string): unknown => JSON.parse(readFileSync(path.join(ROOT, name), 'utf8'));
const { packages } = read('package-lock.json') as { packages: Readonly<Record<string, Locked>> };
const fetched = Object.entries(packages).filter(
  ([where, { link }]) => where.startsWith('node_modules/') && link !== true,
);
const named = (isOne: (locked: Locked) => boolean): readonly string[] =>
  fetched.filter(([, locked]) => isOne(locked)).map(([where]) => where);

describe('what is installed', () => {
  it('is pinned by its hash, wherever it comes from', () => {
    expect(fetched.length).toBeGreaterThan(50);
    expect(named(({ integrity }) => integrity?.startsWith('sha512-') !== true)).toEqual([]);
    expect(named(({ resolved }) => resolved !== undefined)).toEqual([]);
  });

  it('runs no script, but for an optional package of one system', () => {
    expect(named(({ hasInstallScript, optional }) => hasInstallScript === true && optional !== true)).toEqual(
      [],
    );
  });

  it('brings one version of Node for the npm scripts', () => {
    const { version, optionalDependencies } = read('tools/node/package.json') as {
      version: string;
      optionalDependencies: Readonly<Record<string, string>>;
    };
    expect(new Set(Object.values(optionalDependencies))).toEqual(new Set([version]));
    const locked = Object.keys(optionalDependencies).map((name) => packages[`node_modules/${name}`]?.version);
    expect(new Set(locked)).toEqual(new Set([version]));
  });
});
