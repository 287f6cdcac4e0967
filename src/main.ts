import { confirmOn } from './cli/confirm.ts';
import { createProgressLine } from './cli/progress.ts';
import { readCommandLine } from './cli/read-command-line.ts';
import { runCommandLine } from './cli/run.ts';
import { endProcess, sayTo } from './cli/standard-output.ts';

const { env: environment, stdout, stderr } = process;
const line = createProgressLine({ stream: stderr, environment });
const code = await runCommandLine(readCommandLine(process.argv.slice(2)), {
  environment,
  out: line.besides(sayTo(stdout)),
  say: line.besides(sayTo(stderr)),
  confirm: confirmOn(process.stdin, stderr),
  progress: (text) => line.start(text),
});
endProcess(code, [stdout, stderr]);
