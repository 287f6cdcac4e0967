import { statfs } from 'node:fs/promises';

/**
 * A home of codex 0.166 takes 2.7 MB before its first turn. With less, codex exits without naming the reason,
 * or waits for its own database until the timeout; with slightly more, a few turns fill the disk.
 */
const MIN_FREE_BYTES = 4 * 1024 * 1024;

/** Throws ENOSPC if the disk has no space for a home. File systems that do not report their size pass. */
export const requireDiskSpace = async (directory: string, cause?: unknown): Promise<void> => {
  const disk = await statfs(directory).catch(() => null);
  if (disk === null || disk.blocks === 0) return;
  // The last blocks of a disk are often reserved for root.
  const freeBytes = (process.getuid?.() === 0 ? disk.bfree : disk.bavail) * disk.bsize;
  const hasFiles = disk.files === 0 || disk.ffree > 0;
  if (freeBytes >= MIN_FREE_BYTES && hasFiles) return;
  const left = hasFiles ? `${Math.floor(freeBytes / 1024)} KB are` : 'no inodes are';
  const message = `ENOSPC: ${left} left for ${directory}; a home of codex needs ${MIN_FREE_BYTES / 1024} KB`;
  throw Object.assign(new Error(message, { cause }), { code: 'ENOSPC' });
};
