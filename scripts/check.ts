import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

/** `npm run check`: runs every read-only check at once. Prints a line for each, and the output of those that failed. */

const CHECKS = {
  format: 'oxfmt --check',
  lint: 'oxlint --deny-warnings',
  // Each checker repeats work of the others, and the linter needs a core, too.
  types: 'tsc --checkers 2',
  'types of the console': 'tsc -p console',
  'dead code': 'knip',
  protocol: 'node scripts/protocol.ts',
  docs: 'node scripts/docs.ts',
  words: 'node scripts/words.ts',
};

const check = async (name: string, command: string): Promise<boolean> => {
  // npm puts `node_modules/.bin` into the path.
  const child = spawn(`${command} 2>&1`, { shell: true, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(false));
    child.once('close', (code) => resolve(code === 0));
  });
  const said = await text(child.stdout);
  const passes = await ended;
  process.stdout.write(passes ? `✓ ${name}\n` : `✗ ${name} (${command})\n${said}\n`);
  return passes;
};

const passed = await Promise.all(Object.entries(CHECKS).map(([name, command]) => check(name, command)));
process.exitCode = passed.every(Boolean) ? 0 : 1;
