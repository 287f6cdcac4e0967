import { readCommandLine } from './command/read-command-line.ts';
import { runCommandLine } from './command/run.ts';
import { endProcess, sayTo } from './command/standard-output.ts';

const code = await runCommandLine(readCommandLine(process.argv.slice(2)), {
  environment: process.env,
  out: sayTo(process.stdout),
  say: sayTo(process.stderr),
});
endProcess(code, [process.stdout, process.stderr]);
