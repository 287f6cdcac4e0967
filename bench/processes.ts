import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

interface Process {
  readonly pid: number;
  readonly parent: number;
}

const running = async (): Promise<readonly (Process & { readonly kb: number })[]> => {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,rss=']);
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/u).map(Number))
    .map(([pid = 0, parent = 0, kb = 0]) => ({ pid, parent, kb }));
};

/** The resident memory of the matching processes. */
export const residentMb = async (isMeant: (process: Process) => boolean): Promise<number> =>
  (await running()).filter(isMeant).reduce((sum, { kb }) => sum + kb / 1024, 0);

/** The process id of the only child. */
export const childOf = async (parent: number): Promise<number> => {
  // `ps` itself is a child of this process, not of that one.
  const [child, ...others] = (await running()).filter((process) => process.parent === parent);
  if (child === undefined || others.length > 0) throw new Error(`process ${parent} has no single child`);
  return child.pid;
};

/** CPU milliseconds that the process has used, with all its threads. */
export const cpuMs = async (pid: number): Promise<number> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The fields after the name, which may contain spaces: user and system time, in ticks of 10 ms.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
};
