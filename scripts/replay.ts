/**
 * Replays captured requests (see PROXY_CAPTURE_DIR) through the current translators.
 *
 *   npm run replay FILE...               prints the differences; exits with 1 if there are any
 *   npm run replay -- --accept FILE...   the same, and updates the files
 */
import { writeFile } from 'node:fs/promises';

import { accept, compare, describe } from './replay/compare.ts';
import { play } from './replay/play.ts';
import { readCapture, writeCapture } from './replay/read-capture.ts';

const accepts = process.argv.includes('--accept');
const files = process.argv.slice(2).filter((word) => word !== '--accept');
if (files.length === 0) {
  console.error('npm run replay FILE...   where FILE is a capture file (PROXY_CAPTURE_DIR)');
  process.exit(2);
}

let isSame = true;
for (const file of files) {
  const then = await readCapture(file);
  const wasCut = then.some(({ kind }) => kind === 'cut') || !then.some(({ kind }) => kind === 'end');
  if (wasCut)
    console.log(`${file}: the capture is incomplete; whatever follows its end is reported as different`);
  const now = await play(then);
  const differences = compare(then, now);
  if (differences.length === 0) console.log(`${file}: no difference`);
  else {
    isSame &&= accepts;
    if (accepts) await writeFile(file, writeCapture(accept(then, now)), { mode: 0o600 });
    console.log(`${file}: ${differences.length} differences (- then, + now)\n\n${describe(differences)}`);
  }
}
// Do not wait for timers of an abandoned turn.
process.exit(isSame ? 0 : 1);
