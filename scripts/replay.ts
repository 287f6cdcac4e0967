/**
 * Plays the story of a request (see PROXY_CAPTURE_DIR) against the translators of today.
 *
 *   npm run replay FILE...               what would be different is printed; exit code 1 if anything would be
 *   npm run replay -- --accept FILE...   the same, and the files say from now on what is said today
 */
import { writeFile } from 'node:fs/promises';

import { accept, compare, describe } from './replay/compare.ts';
import { play } from './replay/play.ts';
import { readStory, writeStory } from './replay/read-story.ts';

const accepts = process.argv.includes('--accept');
const files = process.argv.slice(2).filter((word) => word !== '--accept');
if (files.length === 0) {
  console.error('npm run replay FILE...   where FILE is a story of PROXY_CAPTURE_DIR');
  process.exit(2);
}

let isSame = true;
for (const file of files) {
  const then = await readStory(file);
  const wasCut = then.some(({ kind }) => kind === 'cut') || !then.some(({ kind }) => kind === 'end');
  if (wasCut)
    console.log(`${file}: the capture is incomplete; whatever follows its end is reported as different`);
  const now = await play(then);
  const differences = compare(then, now);
  if (differences.length === 0) console.log(`${file}: no difference`);
  else {
    isSame &&= accepts;
    if (accepts) await writeFile(file, writeStory(accept(then, now)), { mode: 0o600 });
    console.log(`${file}: ${differences.length} differences (- then, + now)\n\n${describe(differences)}`);
  }
}
// Now: a timer of a turn that was let go would be waited for.
process.exit(isSame ? 0 : 1);
