import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';

import { expect, it } from 'vitest';

/** Loads a package of a folder by its name. */
export type Load = (name: string) => unknown;

const ROOT = path.resolve(import.meta.dirname, '../..');
/** Outside of all source folders, and removed with the other packages. */
const ROOM = path.join(ROOT, 'node_modules/.locked');
const FILES = ['package.json', 'package-lock.json'];
const TIMEOUT_MS = 180_000;
/** None of the packages has scripts. Fails fast without a network. */
const OPTIONS = [
  '--ignore-scripts',
  '--prefer-offline',
  '--no-audit',
  '--no-fund',
  '--fetch-retries=2',
  '--fetch-retry-mintimeout=500',
  '--fetch-retry-maxtimeout=2000',
];

/**
 * The packages that a folder with a lock of its own names (a path from the root); `npm ci` brings them if they are not
 * there yet. Null: it could not, which is printed as one line. In CI that is a failure.
 */
export const openLocked = async (folder: string): Promise<Load | null> => {
  const locked = path.join(ROOT, folder);
  const place = path.join(ROOM, folder.replaceAll('/', '+'));
  if (!isInstalled(locked, place)) {
    try {
      await install(locked, place);
    } catch (error) {
      const why = `${folder} is not installed, because 'npm ci' did not work: ${lastLine(error)}`;
      if (process.env['CI'] === 'true') throw new Error(why, { cause: error });
      console.warn(`${why}. Its tests are skipped.`);
      return null;
    }
  }
  return createRequire(path.join(place, 'package.json'));
};

/** Takes the place of the tests of packages that are not installed, so that they are reported as skipped. */
export const skipPackages = (folder: string): void => {
  const needs = `the packages of ${folder}: npm ci could not install them`;
  it.skipIf(true)('all tests', { meta: { needs } }, () => expect.fail(needs));
};

/** By content, not by dates: a checkout changes those. */
const isInstalled = (locked: string, place: string): boolean => {
  const wanted = versionsIn(path.join(locked, 'package-lock.json'));
  const there = versionsIn(path.join(place, 'node_modules/.package-lock.json'));
  return [...wanted].every(([at, version]) => at === '' || there.get(at) === version);
};

const versionsIn = (file: string): ReadonlyMap<string, string | undefined> => {
  if (!existsSync(file)) return new Map();
  const { packages } = JSON.parse(readFileSync(file, 'utf8')) as {
    packages: Readonly<Record<string, { readonly version?: string }>>;
  };
  return new Map(Object.entries(packages).map(([at, { version }]) => [at, version]));
};

/** Atomic: another process may do the same at this moment. */
const install = async (locked: string, place: string): Promise<void> => {
  mkdirSync(ROOM, { recursive: true });
  const fresh = mkdtempSync(path.join(ROOM, 'fresh-'));
  try {
    for (const file of FILES) copyFileSync(path.join(locked, file), path.join(fresh, file));
    await promisify(execFile)('npm', ['ci', ...OPTIONS], { cwd: fresh, timeout: TIMEOUT_MS });
    rmSync(place, { recursive: true, force: true });
    renameSync(fresh, place);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
};

const lastLine = (error: unknown): string => {
  const said = String((error as { stderr?: unknown }).stderr ?? error).trim();
  return said.split('\n').find((line) => /^npm (error|ERR!)/.test(line)) ?? said;
};
