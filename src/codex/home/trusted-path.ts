import { lstat, readFile, readlink } from 'node:fs/promises';
import path from 'node:path';

import { isMissing } from './files.ts';

/** A file or folder that another user controls. The message says what to do. */
export class UntrustedPath extends Error {}

const MAX_LINKS = 20;
const STICKY = 0o1000;
/** The owner of everything whose owner is not mapped into this user namespace; elsewhere an ordinary user. */
const NO_OWNER = 65_534;

/** What to do besides taking the rights away. */
const OTHER_FOLDER = 'choose another folder with PROXY_STATE_DIR';

/**
 * Says what another user may do to this file or folder; null: nothing. A missing file is trusted if no other user
 * may create it. A symbolic link is trusted if its owner is, and its target too. Root is trusted.
 */
export const untrusted = async (file: string, otherwise = OTHER_FOLDER): Promise<string | null> => {
  // Windows has different permissions.
  if (process.getuid === undefined) return null;
  const map = await readFile('/proc/self/uid_map', 'utf8').catch(() => null);
  const trustsNoOwner = map !== null && !isMapped(NO_OWNER, map);
  return look(path.resolve(file), { uid: process.getuid(), trustsNoOwner, otherwise }, 0);
};

/** Whether a user of this namespace has this id. A line of the map: first id here, first id outside, count. */
export const isMapped = (uid: number, map: string): boolean =>
  map.split('\n').some((line) => {
    const [first = NaN, , count = NaN] = line.trim().split(/\s+/).map(Number);
    return uid >= first && uid < first + count;
  });

interface Us {
  readonly uid: number;
  readonly trustsNoOwner: boolean;
  readonly otherwise?: string;
}

const look = async (file: string, us: Us, links: number): Promise<string | null> => {
  if (links > MAX_LINKS) return `${file} is a loop of links. Remove it.`;
  for (const part of pathPrefixes(file)) {
    const found = await lstat(part).catch((error: unknown) => {
      if (isMissing(error)) return null;
      throw error;
    });
    if (found === null) return null;
    const isLink = found.isSymbolicLink();
    const { uid: owner, gid, mode } = found;
    const rights = { uid: owner, gid, mode, isLink };
    const problem = problemOf(part, rights, { ...us, isWhole: part === file });
    if (problem !== null) return problem;
    if (isLink) {
      const target = path.resolve(path.dirname(part), await readlink(part));
      const behind = await look(target, us, links + 1);
      if (behind !== null) return behind;
    }
  }
  return null;
};

interface Rights {
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
  readonly isLink: boolean;
}

/** `/`, `/a`, `/a/b` */
export const pathPrefixes = (file: string): readonly string[] => {
  const parent = path.dirname(file);
  return parent === file ? [file] : [...pathPrefixes(parent), file];
};

/** Pure. `isWhole`: it is the path itself, not a parent folder. */
export const problemOf = (
  part: string,
  { uid: owner, gid, mode, isLink }: Rights,
  { uid, trustsNoOwner, isWhole, otherwise = OTHER_FOLDER }: Us & { readonly isWhole: boolean },
): string | null => {
  const isOurs = owner === uid || owner === 0 || (owner === NO_OWNER && trustsNoOwner && !isWhole);
  if (!isOurs) {
    return (
      `${part} belongs to user ${owner}, and this server runs as user ${uid}: that user could read its secrets or run programs as it. ` +
      `Run chown -R ${uid} ${part} if its content is yours, or ${otherwise}.`
    );
  }
  // The permissions of a link are irrelevant.
  if (isLink) return null;
  // A private group has the number of its user, who is its only member.
  const group = gid === uid || gid === 0 ? 0 : mode & 0o020;
  const writable = group | (mode & 0o002);
  // In a sticky folder like /tmp any user may create files, but not replace those of others.
  if (writable === 0 || (!isWhole && (mode & STICKY) !== 0)) return null;
  return (
    `Other users may write to ${part}: they could read the secrets of this server or run programs as its user. ` +
    `Run chmod go-w ${part} if its content is yours, or ${otherwise}.`
  );
};
