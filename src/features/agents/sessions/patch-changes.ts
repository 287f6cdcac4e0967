import type { FileChange } from '../run/port.ts';

const HEADERS = [
  ['*** Add File: ', 'add'],
  ['*** Update File: ', 'update'],
  ['*** Delete File: ', 'delete'],
] as const;
const MOVE = '*** Move to: ';
/** More than any patch that is worth reading. */
const MAX_CHANGES = 1_000;

/** What a patch of codex would change, as far as it can be read: for a patch that was refused. */
export const patchChanges = (patch: string): readonly FileChange[] => {
  const changes: { path: string; change: FileChange['change']; movePath: string | null; lines: string[] }[] =
    [];
  for (const line of patch.split('\n')) {
    const header = HEADERS.find(([words]) => line.startsWith(words));
    const last = changes.at(-1);
    if (header !== undefined) {
      if (changes.length >= MAX_CHANGES) break;
      const [words, change] = header;
      changes.push({ path: line.slice(words.length).trim(), change, movePath: null, lines: [] });
    } else if (last !== undefined && line.startsWith(MOVE)) last.movePath = line.slice(MOVE.length).trim();
    else if (last !== undefined && !line.startsWith('*** ')) last.lines.push(line);
  }
  return changes.map(({ lines, ...change }) => ({ ...change, diff: lines.join('\n') }));
};
