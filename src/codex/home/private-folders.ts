import { lstat, mkdir, open, realpath } from 'node:fs/promises';
import path from 'node:path';

import { makePrivateDirectory } from './files.ts';
import { pathPrefixes, untrusted, UntrustedPath } from './trusted-path.ts';

/** Paths below the state directory that no other user may control. */
const SECRETS = ['api-key', 'signature-key', 'codex', 'codex/auth.json', 'run', 'connect'];

/**
 * Creates the state directory if it does not exist. Throws `UntrustedPath` if another user owns it or a
 * trusted path in it, or may write there.
 */
export const requirePrivateState = async (stateDir: string): Promise<void> => {
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  const problem = await untrustedState(stateDir);
  if (problem !== null) throw new UntrustedPath(problem);
};

/** What other users may do to the state directory; null: nothing. */
export const untrustedState = async (stateDir: string): Promise<string | null> => {
  for (const name of ['', ...SECRETS]) {
    const problem = await untrusted(path.join(stateDir, name));
    if (problem !== null) return problem;
  }
  return null;
};

export interface WorkFolders {
  /** The working directory of codex. */
  readonly workDir: string;
  /** Working directory of MCP servers without `cwd`. Programs may load code from there. */
  readonly mcpDir: string;
  /** Why `workDir` is not the requested one; null if it is. */
  readonly instead: string | null;
}

export interface WorkFoldersOptions {
  readonly stateDir: string;
  readonly workDir: string;
  /** Whether the operator chose it. The default is in a folder where any user may create files. */
  readonly isChosen: boolean;
}

export const openWorkFolders = async (options: WorkFoldersOptions): Promise<WorkFolders> => {
  const { stateDir, workDir, isChosen } = options;
  const mcpDir = path.join(stateDir, 'mcp');
  await makePrivateDirectory(mcpDir);
  const problem = isChosen ? await makeChosen(workDir) : await takenBy(workDir);
  if (problem === null) return { workDir, mcpDir, instead: null };
  const own = path.join(stateDir, 'work');
  await makePrivateDirectory(own);
  return { workDir: own, mcpDir, instead: `${workDir} ${problem}` };
};

const makeChosen = async (folder: string): Promise<null> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return null;
};

/** Creates the folder. Null: only we control it. */
const takenBy = async (folder: string): Promise<string | null> => {
  try {
    await mkdir(folder, { mode: 0o700 });
    return null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST') return `cannot be made (${String(code)})`;
  }
  const found = await lstat(folder);
  if (found.isSymbolicLink()) return 'is a symbolic link';
  if (!found.isDirectory()) return 'is not a folder';
  if (process.getuid === undefined) return null;
  if (found.uid !== process.getuid()) return `belongs to user ${found.uid}`;
  return (found.mode & 0o022) === 0 ? null : 'may be written by other users';
};

/**
 * The folders whose `.codex` codex would obey for a thread in this one: the folder, those above it, and the
 * repository of a git work tree. Each as it is written and as it is found on the disk.
 */
export const projectFolders = async (workDir: string): Promise<readonly string[]> => {
  const real = await realpath(workDir).catch(() => workDir);
  const folders = [...pathPrefixes(workDir), ...pathPrefixes(real)];
  const repositories = await Promise.all(folders.map(repositoryOfWorkTree));
  return [...new Set([...folders, ...repositories.filter((repository) => repository !== null)])];
};

/** More than a path has. */
const MAX_GIT_FILE_BYTES = 8 * 1024;

/** The repository of a work tree, whose `.git` is a file with a path: `<repository>/.git/worktrees/<name>`. */
const repositoryOfWorkTree = async (folder: string): Promise<string | null> => {
  const file = path.join(folder, '.git');
  // It may be anything: the folder is not trusted.
  if ((await lstat(file).catch(() => null))?.isFile() !== true) return null;
  const named = /^gitdir:(.*)/.exec(await startOf(file))?.[1]?.trim() ?? '';
  const written = path.resolve(folder, named);
  const found = await realpath(written).catch(() => written);
  const trees = path.dirname(found);
  return path.basename(trees) === 'worktrees' ? path.dirname(path.dirname(trees)) : null;
};

/** Empty if it cannot be read. */
const startOf = async (file: string): Promise<string> => {
  const handle = await open(file).catch(() => null);
  if (handle === null) return '';
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_GIT_FILE_BYTES));
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
};
