import { constants } from 'node:fs';
import { lstat, mkdir, open, realpath, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';

import { failure, GatewayError } from '../../../canonical/failure/failure.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';

/** Throws a `GatewayError` if the folder of a workspace cannot be used. */
export const requireFolder = async (workspace: Workspace): Promise<void> => {
  const why = await folderTrouble(workspace);
  if (why !== null) throw unavailable(workspace, `it ${why}`);
};

/**
 * What has happened to the folder since the start, as the end of a sentence; null: nothing. A folder may go while the server
 * runs, or become a link to another one.
 */
export const folderTrouble = async ({ path: folder }: Workspace): Promise<string | null> => {
  try {
    if (!(await stat(folder)).isDirectory()) return 'is not a folder any more';
    return (await realpath(folder)) === folder ? null : 'is elsewhere now';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? 'does not exist any more' : `cannot be read (${String(code)})`;
  }
};

/** The failure of a workspace that cannot be used. */
export const unavailable = ({ label }: Workspace, why: string, cause?: unknown): GatewayError =>
  new GatewayError(
    failure('mcp_server_unavailable', { message: `The workspace '${label}' could not be used: ${why}.` }),
    { cause },
  );

const GLOB = /[*?[\]{}]/;

/**
 * What is hidden and exists: for what does not, codex would create an empty file in the workspace, which commands then see,
 * and may commit.
 */
export const hiddenNow = async (workspace: Workspace): Promise<readonly string[]> => {
  const found = await Promise.all(
    workspace.hide.map(
      async (hidden) => GLOB.test(hidden) || (await isThere(path.join(workspace.path, hidden))),
    ),
  );
  return workspace.hide.filter((_, index) => found[index]);
};

/**
 * The folders in the workspace that contain a hidden path. A command that moves one of them would give what is hidden another
 * path, which is not. Links are left out: the sandbox would open what they lead to.
 */
export const foldersAroundHidden = async ({ path: root, hide }: Workspace): Promise<readonly string[]> => {
  const found = new Set<string>();
  for (const hidden of hide) {
    for (const folder of partsOf(hidden).slice(0, -1)) {
      if (GLOB.test(folder) || !(await isFolder(path.join(root, folder)))) break;
      found.add(folder);
    }
  }
  return [...found];
};

/**
 * Makes sure that the sandbox can open these folders. They are the same for all commands, which can replace none of them with
 * a link: the sandbox would open what it leads to. Throws a `GatewayError` if one is something else now.
 */
export const keepFolders = async (workspace: Workspace, folders: readonly string[]): Promise<void> => {
  for (const name of folders) {
    const folder = path.join(workspace.path, name);
    await mkdir(folder).catch(() => {});
    if (!(await isFolder(folder))) throw unavailable(workspace, `\`${name}\` is not a folder any more`);
  }
};

/**
 * Whether commands may change `.git`: not what a link leads to. If it does not exist it is made, because a command could make
 * a link in its place. Placeholders remove it if it stays empty.
 */
export const mayOpenGit = async ({ path: root }: Workspace): Promise<boolean> => {
  const folder = path.join(root, '.git');
  await mkdir(folder).catch(() => {});
  return lstat(folder).then(
    (found) => !found.isSymbolicLink(),
    () => false,
  );
};

const isFolder = (file: string): Promise<boolean> =>
  lstat(file).then(
    (is) => is.isDirectory(),
    () => false,
  );

const isThere = (file: string): Promise<boolean> =>
  lstat(file).then(
    () => true,
    () => false,
  );

/** What codex protects in every folder that commands may change. */
const PROTECTED = ['.git', '.codex', '.agents', '.aws'];

/**
 * For each command codex makes empty folders in the place of protected ones that do not exist, and empty files in the place
 * of hidden ones. It removes them after it, unless the command is ended. They are removed here when the last run in a folder
 * has ended.
 */
export class Placeholders {
  readonly #folders = new Map<string, UsedFolder>();

  /** Call this before the first command, and the result after the last one. */
  async enter(folder: string, hidden: readonly string[] = []): Promise<() => Promise<void>> {
    const used = this.#folders.get(folder) ?? { runs: 0, missing: new Set(), removed: Promise.resolve() };
    used.runs += 1;
    this.#folders.set(folder, used);
    // What is just being removed would look as if it had been there before.
    await used.removed;
    for (const file of await missingIn(folder, hidden)) used.missing.add(file);
    return async () => {
      used.runs -= 1;
      if (used.runs > 0) return;
      const files = [...used.missing];
      used.missing.clear();
      used.removed = removeEmpty(files);
      await used.removed;
    };
  }

  /** After a server was killed: whether they were there before is not known. */
  static async removeAll(folder: string): Promise<void> {
    await removeEmpty(PROTECTED.map((name) => path.join(folder, name)));
  }
}

/**
 * Makes what codex protects in a folder, so that it protects them for as long as they are there. Its own placeholders go with
 * the command that was first, and others could then make these folders. Call this after `enter`, which removes them.
 */
export const makeProtected = async (folder: string): Promise<void> => {
  for (const name of PROTECTED) await mkdir(path.join(folder, name)).catch(() => {});
};

interface UsedFolder {
  runs: number;
  /** What did not exist when one of its runs began. */
  readonly missing: Set<string>;
  /** Settled when the placeholders of earlier runs are gone. */
  removed: Promise<void>;
}

/** Of a missing path, that is the first part that does not exist. */
const missingIn = async (folder: string, hidden: readonly string[]): Promise<readonly string[]> => {
  const names = [...PROTECTED, ...hidden.filter((name) => !GLOB.test(name))];
  const missing = await Promise.all(
    names.map(async (name) => {
      for (const part of partsOf(name)) {
        const file = path.join(folder, part);
        if (!(await isThere(file))) return [file];
      }
      return [];
    }),
  );
  return [...new Set(missing.flat())];
};

/** `a/b/c`: `a`, `a/b`, `a/b/c` */
const partsOf = (name: string): readonly string[] => {
  const parts = name.split('/');
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
};

/** The mode of the files that codex makes. */
const PLACEHOLDER_MODE = 0o444;

/** Removes nothing that has content, or that someone else has made. */
const removeEmpty = async (files: readonly string[]): Promise<void> => {
  for (const file of files) {
    const found = await lstat(file).catch(() => null);
    if (found?.isDirectory() === true) await rmdir(file).catch(() => {});
    else if (found?.isFile() === true && found.size === 0 && (found.mode & 0o777) === PLACEHOLDER_MODE)
      await rm(file, { force: true }).catch(() => {});
  }
};

/** Whether a file of a workspace, or a folder around it, is hidden. */
export const isHidden = ({ hide }: Workspace, file: string): boolean => {
  const parts = partsOf(file);
  return hide.some((hidden) => {
    const plain = path.normalize(hidden);
    return parts.some((part) => part === plain || path.matchesGlob(part, plain));
  });
};

const AGENTS_MD = 'AGENTS.md';
const MAX_AGENTS_MD_BYTES = 32 * 1024;

interface AgentsMd {
  /** Null: there is none, or it cannot be used. */
  readonly text: string | null;
  /** Why it is not used. */
  readonly problem: string | null;
}

/** The instructions of a workspace for agents. */
export const readAgentsMd = async (workspace: Workspace): Promise<AgentsMd> => {
  const not = (problem: string | null): AgentsMd => ({ text: null, problem });
  if (isHidden(workspace, AGENTS_MD)) return not(null);
  // Anyone may have written it: a link could lead out of the workspace, and a pipe would never end.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  try {
    await using handle = await open(path.join(workspace.path, AGENTS_MD), flags);
    const found = await handle.stat();
    if (!found.isFile()) return not(`${AGENTS_MD} is not a regular file`);
    if (found.size > MAX_AGENTS_MD_BYTES) return not(`${AGENTS_MD} has more than 32 KiB`);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_AGENTS_MD_BYTES));
    const text = new TextDecoder('utf-8', { fatal: true }).decode(buffer.subarray(0, bytesRead));
    return { text: text.trim() === '' ? null : text, problem: null };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    if (code === 'ENOENT') return not(null);
    if (code === 'ELOOP') return not(`${AGENTS_MD} is a link`);
    if (code.startsWith('ERR_ENCODING')) return not(`${AGENTS_MD} is not UTF-8`);
    return not(`${AGENTS_MD} cannot be read (${code})`);
  }
};
