import { randomUUID } from 'node:crypto';
import { chmod, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';

export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** Null if the file does not exist. */
export const readIfPresent = async (file: string): Promise<string | null> => {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isMissing(error)) return null;
    // For a folder at this path Node's error does not name it.
    throw error instanceof Error ? Object.assign(error, { path: file }) : error;
  }
};

/** Changes with the file. Follows links; `none`: it does not exist. */
export const stampOf = async (file: string): Promise<string> => {
  const found = await stat(file).catch(() => null);
  return found === null ? 'none' : `${found.mtimeMs} ${found.size} ${found.ino}`;
};

/** Follows links: a dangling link does not exist. */
export const exists = async (file: string): Promise<boolean> => {
  try {
    await stat(file);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
};

/**
 * Replaces a file atomically, even across a power failure: readers see the old text or the new one. The new
 * file has mode 600. `prepare` runs when the new file is complete; if it resolves to false, the old file
 * stays.
 */
export const writeAtomically = async (
  file: string,
  text: string,
  prepare: (temporary: string) => Promise<boolean> = async () => true,
): Promise<void> => {
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (await prepare(temporary)) await rename(temporary, file);
  } finally {
    // No effect after a successful rename.
    await rm(temporary, { force: true });
  }
};

/** Creates a directory for this user only, or restricts an existing one. */
export const makePrivateDirectory = async (directory: string): Promise<void> => {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await chmod(directory, 0o700);
};
