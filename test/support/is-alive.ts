import { readdirSync, readFileSync } from 'node:fs';

export const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
};

/** A process. The system gives the number of one that has ended to another, on a busy machine within minutes. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startedAt: string | null;
}

export const identityOf = (pid: number): ProcessIdentity => ({ pid, startedAt: startOf(pid) });

export const isSameAlive = ({ pid, startedAt }: ProcessIdentity): boolean =>
  isAlive(pid) && startOf(pid) === startedAt;

/** In ticks since the system was started; null if the system does not say. */
const startOf = (pid: number): string | null => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The fields after the name, which may contain spaces.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
};

/** Of all processes. */
export const commandLines = (): string =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(commandLineOf)
    .join('\n');

const commandLineOf = (pid: string): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
};
