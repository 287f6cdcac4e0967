import { confirmOn } from './confirm.ts';
import { createProgressLine } from './progress.ts';
import { readCommandLine } from './read-command-line.ts';
import { runCommandLine } from './run.ts';
import { endProcess, sayTo } from './standard-output.ts';

/** Runs the command of this process, and ends it. */
export const runProcess = async ({
  argv,
  env: environment,
  stdin,
  stdout,
  stderr,
}: NodeJS.Process): Promise<void> => {
  const line = createProgressLine({ stream: stderr, environment });
  const code = await runCommandLine(readCommandLine(argv.slice(2)), {
    environment,
    out: line.besides(sayTo(stdout)),
    say: line.besides(sayTo(stderr)),
    confirm: confirmOn(stdin, stderr),
    progress: (text) => line.start(text),
  });
  endProcess(code, [stdout, stderr]);
};
