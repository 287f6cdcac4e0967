import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

interface Process {
  readonly pid: number;
  readonly parent: number;
}

/** The resident memory of the matching processes. */
export const residentMb = async (isMeant: (process: Process) => boolean): Promise<number> => {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,rss=']);
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/u).map(Number))
    .filter(([pid = 0, parent = 0]) => isMeant({ pid, parent }))
    .reduce((sum, [, , kb = 0]) => sum + kb / 1024, 0);
};
