import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, stat, writeFile, chmod } from 'node:fs/promises';

export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** Null where the file does not exist. */
export const readIfPresent = async (file: string): Promise<string | null> => {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isMissing(error)) return null;
    // Of a folder in its place Node does not say which one it is.
    throw error instanceof Error ? Object.assign(error, { path: file }) : error;
  }
};

/** Follows links: a link to nothing does not exist. */
export const exists = async (file: string): Promise<boolean> => {
  try {
    await stat(file);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
};

/** Readers see the old text or the new one, never half of it. */
export const writeAtomically = async (file: string, text: string): Promise<void> => {
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, text, { mode: 0o600 });
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
};

/** Only for this user, also if the directory was there before with other rights. */
export const makePrivateDirectory = async (directory: string): Promise<void> => {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await chmod(directory, 0o700);
};
