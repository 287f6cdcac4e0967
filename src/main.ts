import { confirmOn } from './cli/confirm.ts';
import { readCommandLine } from './cli/read-command-line.ts';
import { runCommandLine } from './cli/run.ts';
import { endProcess, sayTo } from './cli/standard-output.ts';

const code = await runCommandLine(readCommandLine(process.argv.slice(2)), {
  environment: process.env,
  out: sayTo(process.stdout),
  say: sayTo(process.stderr),
  confirm: confirmOn(process.stdin, process.stderr),
});
endProcess(code, [process.stdout, process.stderr]);
