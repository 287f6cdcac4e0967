import { readCommandLine } from './command/read-command-line.ts';
import { runCommandLine } from './command/run.ts';

const code = await runCommandLine(readCommandLine(process.argv.slice(2)), {
  environment: process.env,
  out: (text) => process.stdout.write(text),
  say: (text) => process.stderr.write(text),
});
// A pipe may take what was written later than we end.
process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
