/** What a patch does to one file. */
export interface FileChange {
  readonly path: string;
  readonly kind: 'add' | 'delete' | 'update';
  readonly movePath: string | null;
  readonly diff: string;
}

export interface DiffLine {
  readonly kind: 'add' | 'hunk' | 'note' | 'remove' | 'same';
  readonly text: string;
  /** Its number in the old and the new file; null: it is not in that file, or unknown. */
  readonly oldLine: number | null;
  readonly newLine: number | null;
}

export interface FileDiff {
  readonly lines: readonly DiffLine[];
  readonly added: number;
  readonly removed: number;
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** The lines of a change. A new or deleted file may come as its bare content. */
export const diffOf = ({ kind, diff }: FileChange): FileDiff => {
  const texts = diff.split(/\r?\n/);
  if (texts.at(-1) === '') texts.pop();
  const isBare = kind !== 'update' && !texts.some((text) => HUNK.test(text));
  const mark = kind === 'add' ? '+' : '-';
  const marked =
    isBare && !texts.every((text) => text.startsWith(mark)) ? texts.map((text) => mark + text) : texts;
  // Without a header of a hunk, only a whole file has known line numbers.
  let oldLine: number | null = isBare ? 1 : null;
  let newLine: number | null = isBare ? 1 : null;
  const lines: DiffLine[] = [];
  let [added, removed] = [0, 0];
  let isInHunk = isBare;
  for (const text of marked) {
    if (text.startsWith('@@')) {
      const [, from, to] = HUNK.exec(text) ?? [];
      [oldLine, newLine] = [from === undefined ? null : Number(from), to === undefined ? null : Number(to)];
      isInHunk = true;
      lines.push({ kind: 'hunk', text, oldLine: null, newLine: null });
    } else if (!isInHunk && /^(?:--- |\+\+\+ |diff |index )/.test(text)) {
      // The header of the file repeats its path.
    } else if (text.startsWith('+')) {
      lines.push({ kind: 'add', text: text.slice(1), oldLine: null, newLine });
      newLine = next(newLine);
      added += 1;
    } else if (text.startsWith('-')) {
      lines.push({ kind: 'remove', text: text.slice(1), oldLine, newLine: null });
      oldLine = next(oldLine);
      removed += 1;
    } else if (text.startsWith('\\')) {
      lines.push({ kind: 'note', text: text.slice(1).trim(), oldLine: null, newLine: null });
    } else {
      lines.push({ kind: 'same', text: text.slice(1), oldLine, newLine });
      [oldLine, newLine] = [next(oldLine), next(newLine)];
    }
  }
  return { lines, added, removed };
};

const next = (line: number | null): number | null => (line === null ? null : line + 1);

const KINDS = { Add: 'add', Delete: 'delete', Update: 'update' } as const;

/** Longer lines of a diff are shown cut. */
export const MAX_LINE_CHARS = 2000;

const MARKS: ReadonlySet<string> = new Set(['*** Begin Patch', '*** End Patch', '*** End of File']);

/**
 * The changes in a patch as the model writes it: `*** Begin Patch`, and so on. None if a part of it cannot be read for sure:
 * codex accepts other ways to write it, and a person has to see all of it.
 */
const changesInPatch = (patch: string): readonly FileChange[] => {
  const changes: FileChange[] = [];
  let lines: string[] = [];
  let current = null as FileChange | null;
  const close = (): void => {
    if (current !== null) changes.push({ ...current, diff: hunksOf(current, lines) });
    lines = [];
    current = null;
  };
  for (const line of patch.split(/\r?\n/)) {
    const [, word, path] = /^\*\*\* (Add|Delete|Update) File: (.+)$/.exec(line) ?? [];
    const [, movePath] = /^\*\*\* Move to: (.+)$/.exec(line) ?? [];
    if (word !== undefined && path !== undefined) {
      close();
      current = { path, kind: KINDS[word as keyof typeof KINDS], movePath: null, diff: '' };
    } else if (movePath !== undefined && current !== null) current = { ...current, movePath };
    else if (MARKS.has(line.trim())) continue;
    else if (
      line.length > MAX_LINE_CHARS ||
      line.trim().startsWith('***') ||
      (current === null && line.trim() !== '')
    )
      return [];
    else lines.push(line);
  }
  close();
  return changes;
};

/** Adds the `@@` that the first lines may lack: without it, some of them could be taken for the header of a file. */
const hunksOf = ({ kind }: FileChange, lines: readonly string[]): string =>
  (kind === 'update' && lines.length > 0 && lines[0]?.startsWith('@@') !== true
    ? ['@@', ...lines]
    : lines
  ).join('\n');

/** The changes of a patch item, or of a patch that waits for an approval. */
export const changesOf = (input: Readonly<Record<string, unknown>>): readonly FileChange[] => {
  const { changes } = input;
  if (Array.isArray(changes)) return changes.map(changeOf);
  const patch = input['patch'] ?? input['input'];
  return typeof patch === 'string' ? changesInPatch(patch) : [];
};

const changeOf = (value: unknown): FileChange => {
  const fields = (typeof value === 'object' && value !== null ? value : {}) as Readonly<
    Record<string, unknown>
  >;
  const { path, kind, move_path: movePath, diff } = fields;
  return {
    path: typeof path === 'string' ? path : '?',
    kind: kind === 'add' || kind === 'delete' ? kind : 'update',
    movePath: typeof movePath === 'string' ? movePath : null,
    diff: typeof diff === 'string' ? diff : '',
  };
};
