import { chmod, lstat, mkdir, readFile, readlink, realpath, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { diff } from 'node:util';

import { exists, isMissing, writeAtomically } from '../../codex/home/files.ts';
import { PlainError } from '../explain.ts';
import type { FilePlace } from '../../connect/client.ts';

/** Settings files are small; another kind of file must not be read into memory. */
const MAX_BYTES = 4_000_000;
const MAX_LINKS = 20;

/** A settings file of a client on this machine. */
export interface Target {
  /** The path that the client opens. */
  readonly file: string;
  /** The same after links were followed. This one is written, so that a link stays a link. */
  readonly real: string;
  /** Null: there is no such file. */
  readonly text: string | null;
  readonly mode: number | null;
}

type Environment = Readonly<Record<string, string | undefined>>;

export const placeOnDisk = async (
  place: FilePlace,
  home: string,
  environment: Environment,
): Promise<string> => {
  // npm scripts run in the project's folder; npm passes the one of the user in a variable.
  const base = environment['INIT_CWD'] ?? process.cwd();
  const chosen = place.fileVariable === undefined ? '' : (environment[place.fileVariable] ?? '');
  if (chosen !== '') return path.resolve(base, chosen);
  const moved = place.variables?.find(([name]) => (environment[name] ?? '') !== '');
  const folder =
    moved === undefined
      ? path.join(home, place.folder)
      : path.resolve(base, environment[moved[0]] ?? '', moved[1]);
  const other = place.otherName === undefined ? null : path.join(folder, place.otherName);
  return other !== null && (await exists(other)) ? other : path.join(folder, place.name);
};

/** Reads a settings file. Throws if it is not one that can be changed safely. */
export const readTarget = async (file: string): Promise<Target> => {
  const real = await plainly(file, () => followLinks(file, 0));
  const found = await plainly(file, () => statIfPresent(real));
  if (found === null) return { file, real, text: null, mode: null };
  if (!found.isFile()) throw new PlainError(`${file} is not a regular file.`);
  if (found.size > MAX_BYTES) throw new PlainError(`${file} is too large for a settings file.`);
  const bytes = await plainly(file, () => readFile(real));
  return { file, real, text: decoded(bytes, file), mode: found.mode & 0o777 };
};

/** Throws if the file was made read-only, or belongs to another user: replacing it would change its owner. */
export const requireWritable = async ({ file, real }: Target): Promise<void> => {
  const found = await plainly(file, () => statIfPresent(real));
  if (found === null) return;
  if ((found.mode & 0o200) === 0) throw new PlainError(`${file} is read-only: run chmod u+w on it first.`);
  const uid = process.getuid?.();
  if (uid !== undefined && found.uid !== uid)
    throw new PlainError(`${file} belongs to another user (${found.uid}): run this command as that user.`);
};

/** Writes the file at once, with this mode. Returns the first folder that had to be created. */
export const writeTarget = async (
  { file, real }: Target,
  text: string,
  mode: number,
): Promise<string | null> =>
  plainly(file, async () => {
    const made = await mkdir(path.dirname(real), { recursive: true, mode: 0o700 });
    await writeAtomically(real, text, async (temporary) => {
      await chmod(temporary, mode);
      return true;
    });
    return made ?? null;
  });

/** Deletes a file that this command has created, and the folders it created for it as far as they are empty. */
export const deleteTarget = async (file: string, real: string, firstFolder: string | null): Promise<void> =>
  plainly(file, async () => {
    await rm(real, { force: true });
    if (firstFolder === null) return;
    for (let folder = path.dirname(real); folder.startsWith(firstFolder); folder = path.dirname(folder)) {
      if (!(await isRemoved(folder))) return;
    }
  });

/** Whether the folder was empty. */
const isRemoved = (folder: string): Promise<boolean> =>
  rmdir(folder).then(
    () => true,
    () => false,
  );

/** A link to a missing file is followed, too. */
const followLinks = async (file: string, links: number): Promise<string> => {
  if (links > MAX_LINKS) throw new PlainError(`${file} is a loop of links.`);
  try {
    return await realpath(file);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const isLink = await lstat(file).then(
    (found) => found.isSymbolicLink(),
    () => false,
  );
  if (isLink) return followLinks(path.resolve(path.dirname(file), await readlink(file)), links + 1);
  const folder = path.dirname(file);
  return folder === file ? file : path.join(await followLinks(folder, links), path.basename(file));
};

const statIfPresent = (file: string) =>
  stat(file).catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw error;
  });

const decoded = (bytes: Uint8Array, file: string): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new PlainError(`${file} is not UTF-8 text.`);
  }
};

/** Names the file in what the system says about it. */
const plainly = async <Result>(file: string, doing: () => Promise<Result>): Promise<Result> => {
  try {
    return await doing();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof PlainError || code === undefined) throw error;
    throw new PlainError(`Cannot use ${file} (${code}).`, { cause: error });
  }
};

/** Unchanged lines that are shown around a change. */
const CONTEXT = 2;

/** By the kinds of `diff`. */
const SIGNS = { '-1': '+', 0: ' ', 1: '-' } as const;

/** The lines that differ, with a few around them. */
export const showDiff = (file: string, before: string | null, after: string | null): string => {
  const lines = diff(linesOf(before), linesOf(after)).map(([kind, line]) => ({ sign: SIGNS[kind], line }));
  const isNear = lines.map((_line, index) =>
    lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(({ sign }) => sign !== ' '),
  );
  const shown = lines.flatMap(({ sign, line }, index) => {
    if (isNear[index] === true) return [`${sign} ${line}`];
    return index === 0 || isNear[index - 1] === true ? ['  …'] : [];
  });
  const suffix = before === null ? ' (new)' : after === null ? ' (deleted)' : '';
  return [`${file}${suffix}`, ...shown, ''].map((line) => `${line}\n`).join('');
};

const linesOf = (text: string | null): string[] =>
  text === null || text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/);
