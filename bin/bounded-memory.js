import { existsSync } from 'node:fs';

// Limits what this process keeps beyond what it uses. V8's new space grows to 128 MB, because loading the program fills it,
// and the old space to up to four times its content. What V8 frees after it has compiled hot functions, glibc keeps: 50 MB.
// All of these are settings of the start of a process. So the server replaces itself once, which keeps its process id and
// takes 40 ms. Sizes that someone has chosen stay.

const V8_FLAGS = ['--max-semi-space-size=8', '--heap-growing-percent=60'];
const CHOSEN_FLAGS = /--\S*(?:semi.space|old.space|heap.size|heap.growing)/;

/** One arena for all threads. What is larger than 16 KB goes back to the system as soon as it is freed. */
const MALLOC = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '16384',
  MALLOC_TRIM_THRESHOLD_: '65536',
};

const mallocOf = ({ env, platform }) => {
  const isChosen = Object.keys(env).some((name) => /^MALLOC_|^GLIBC_TUNABLES$/.test(name));
  return isChosen || platform !== 'linux' ? {} : MALLOC;
};

/** Does not return if it replaces the process. */
export const boundMemory = (process) => {
  const { env, execArgv, execPath, argv } = process;
  const isChosen = CHOSEN_FLAGS.test(execArgv.join(' ') + ' ' + (env.NODE_OPTIONS || ''));
  const flags = isChosen ? [] : V8_FLAGS;
  const malloc = mallocOf(process);
  // Windows cannot replace a process, and a channel to a parent would be lost.
  const canReplace =
    typeof process.execve === 'function' && process.platform !== 'win32' && process.channel === undefined;
  if (canReplace && flags.length + Object.keys(malloc).length > 0 && existsSync(execPath)) {
    process.execve(
      execPath,
      [execPath, ...execArgv, ...flags, ...argv.slice(1)],
      Object.assign({}, env, malloc),
    );
  }
  // They are in effect, and not meant for the processes that this one starts.
  for (const [name, value] of Object.entries(MALLOC)) if (env[name] === value) delete env[name];
};
