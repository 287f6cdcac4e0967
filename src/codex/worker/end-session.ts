import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** A server that reads the end of its stdin goes by itself. */
const GRACE_MS = 500;

/**
 * Ends what a process has left behind that was the first of its session: the app-server ends the MCP servers that
 * it started, unless it is killed. The number of a session is given to nobody else while somebody is in it.
 */
export const endSession = async (session: number, graceMs = GRACE_MS): Promise<void> => {
  if ((await membersOf(session)).length === 0) return;
  await sleep(graceMs);
  for (const pid of await membersOf(session)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has gone meanwhile.
    }
  }
};

/** Nobody where the system does not tell. */
const membersOf = async (session: number): Promise<readonly number[]> => {
  const names = await readdir('/proc').catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const isMember = await Promise.all(pids.map(async (pid) => (await sessionOf(pid)) === session));
  return pids.filter((_, index) => isMember[index]);
};

const sessionOf = async (pid: number): Promise<number | null> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // Behind the name, which may hold anything: state, parent, group, session.
  const [state, , , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return state === 'Z' ? null : Number(session);
};
