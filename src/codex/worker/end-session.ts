import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** A server that reads the end of its stdin exits by itself. */
const GRACE_MS = 500;

/**
 * Ends the processes that a session leader left behind: the app-server ends its MCP servers, unless it is
 * killed. A session id is not reused while a process is in the session.
 */
export const endSession = async (session: number, graceMs = GRACE_MS): Promise<void> => {
  if ((await membersOf(session)).length === 0) return;
  await sleep(graceMs);
  for (const pid of await membersOf(session)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has exited meanwhile.
    }
  }
};

/** Empty if the system does not provide it. */
const membersOf = async (session: number): Promise<readonly number[]> => {
  const names = await readdir('/proc').catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const isMember = await Promise.all(pids.map(async (pid) => (await sessionOf(pid)) === session));
  return pids.filter((_, index) => isMember[index]);
};

const sessionOf = async (pid: number): Promise<number | null> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // After the name, which may contain anything: state, parent, group, session.
  const [state, , , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return state === 'Z' ? null : Number(session);
};
