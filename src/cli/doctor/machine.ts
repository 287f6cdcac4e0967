import { mkdir, rm, stat, statfs, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { untrustedState } from '../../codex/home/private-folders.ts';
import { ConfigError } from '../../config/load.ts';
import { loadSettings } from '../explain.ts';
import { ok, problem, warning, type Check } from './finding.ts';
import { ALL_SETTINGS } from '../../compose/features.ts';
import type { Config } from '../../config/schema.ts';
import { GROUPS } from '../../config/setting-row.ts';
import type { JsonObject } from '../../kit/json/json.ts';

/** Checks of this machine that send nothing. */

export const nodeCheck: Check = {
  name: 'Node',
  limitMs: 1_000,
  run: () => ok(process.versions.node, { version: process.versions.node }),
};

export const settingsCheck = (environment: Readonly<Record<string, string | undefined>>): Check => ({
  name: 'settings',
  limitMs: 1_000,
  run: async () => {
    try {
      const config = await loadSettings(environment);
      const facts = sourcesFacts(config);
      return config.warnings.length === 0
        ? ok(describeSources(config), facts)
        : warning(
            [describeSources(config), ...config.warnings].join('\n'),
            'see docs/configuration.md, or unset it',
            facts,
          );
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return problem(error.problems.join('\n'), 'correct it: docs/configuration.md');
    }
  },
});

const MEGABYTE = 1_000_000;
const LOW_SPACE_MB = 500;
const NO_SPACE_MB = 50;

export const stateCheck = (directory: string): Check => ({
  name: 'state',
  limitMs: 10_000,
  run: async () => {
    const unusable = await tryToWrite(directory);
    if (unusable !== null) {
      return problem(`${directory} cannot be used: ${unusable}`, 'check PROXY_STATE_DIR and its permissions');
    }
    const untrusted = await untrustedState(directory);
    if (untrusted !== null) return problem(untrusted, 'see docs/security.md');
    const { bavail, bsize } = await statfs(directory);
    const freeMb = Math.floor((bavail * bsize) / MEGABYTE);
    const says = `${directory}, ${freeMb.toLocaleString('en')} MB free`;
    if (freeMb < NO_SPACE_MB) return problem(says, 'free disk space: nothing can be written', { freeMb });
    if (freeMb < LOW_SPACE_MB)
      return warning(says, 'free disk space: a worker can need that much', { freeMb });
    if (await isOpenToOthers(directory)) {
      return warning(`${says}; other users can read it`, `chmod 700 ${directory}`, { freeMb });
    }
    return ok(says, { freeMb });
  },
});

/** Why writing there fails, or null. */
const tryToWrite = async (directory: string): Promise<string | null> => {
  const file = path.join(directory, `doctor-${process.pid}.tmp`);
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await writeFile(file, 'x');
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  } finally {
    await rm(file, { force: true }).catch(() => {});
  }
};

/** Windows has no such permissions. */
export const isOpenToOthers = async (file: string): Promise<boolean> =>
  process.platform !== 'win32' && ((await stat(file)).mode & 0o077) !== 0;

const namesOf = ({ sources }: Config): readonly string[] =>
  Object.keys(sources).filter((name) => sources[name] !== 'default');

/** Which settings are set and where, by group. Without values, because some are secrets. */
const describeSources = (config: Config): string => {
  const groups = Object.entries(GROUPS).flatMap(([group, { title }]) => {
    const names = namesOf(config).filter((name) => ALL_SETTINGS[name]?.group === group);
    const list = names.map((name) => `${name} (${config.sources[name]})`).join(', ');
    return names.length === 0 ? [] : [`${title}: ${list}`];
  });
  const { configFile } = config.state;
  return ['valid', ...(configFile === null ? [] : [`config file ${configFile}`]), ...groups].join('; ');
};

/** The same for `--json`. */
const sourcesFacts = (config: Config): JsonObject => ({
  configFile: config.state.configFile,
  sources: Object.fromEntries(namesOf(config).map((name) => [name, config.sources[name]])),
});
