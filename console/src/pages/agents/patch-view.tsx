import { useMemo, useState } from 'preact/hooks';

import { Button } from '../../components/button.tsx';
import { whole } from '../../format/numbers.ts';
import { diffOf, MAX_LINE_CHARS, type DiffLine, type FileChange } from './diff.ts';
import { visible } from './readable.ts';

/** Longer diffs are closed at first. */
const OPEN_LINES = 120;
/** How many lines are added to the page at once. */
const STEP_LINES = 1000;

const KINDS = { add: 'New', delete: 'Deleted', update: 'Changed' } as const;

interface PatchFilesProps {
  readonly changes: readonly FileChange[];
  /** Much has happened since: files are closed, unless a person has opened them. */
  readonly isOld?: boolean;
}

/** What a patch does, file by file. */
export const PatchFiles = ({ changes, isOld = false }: PatchFilesProps) => (
  <>
    {changes.map((change, index) => (
      // oxlint-disable-next-line react/no-array-index-key
      <FileView key={index} change={change} isOld={isOld} />
    ))}
  </>
);

const FileView = ({ change, isOld }: { readonly change: FileChange; readonly isOld: boolean }) => {
  const { path, kind, movePath } = change;
  const { lines, added, removed } = useMemo(() => diffOf(change), [change]);
  const [chosen, setChosen] = useState<boolean | null>(null);
  const isOpen = chosen ?? (lines.length <= OPEN_LINES && !isOld);
  const [shown, setShown] = useState(STEP_LINES);
  const name = visible(movePath === null ? path : `${path} → ${movePath}`);
  return (
    <section class="run-box file" aria-label={`${KINDS[kind]}: ${name}`}>
      <header class="run-head">
        <button type="button" class="run-toggle" aria-expanded={isOpen} onClick={() => setChosen(!isOpen)}>
          <span class="run-chevron" aria-hidden="true" />
          <code class="file-path">{name}</code>
        </button>
        <span class="run-state file-counts">
          {kind === 'update' ? null : <span class={`file-kind file-kind-${kind}`}>{KINDS[kind]}</span>}
          <DiffCounts added={added} removed={removed} />
        </span>
      </header>
      {isOpen ? (
        <div class="diff" role="region" tabIndex={0} aria-label={`Diff of ${name}`}>
          <Lines lines={lines.slice(0, shown)} />
          {lines.length > shown ? (
            <p class="run-note run-cut">
              {`${whole(shown)} of ${whole(lines.length)} lines.`}
              <Button kind="quiet" onPress={() => setShown(shown + STEP_LINES)}>
                Show more lines
              </Button>
            </p>
          ) : null}
        </div>
      ) : null}
    </section>
  );
};

export const DiffCounts = ({ added, removed }: { readonly added: number; readonly removed: number }) => (
  <span class="diff-counts">
    <span class="diff-added">
      <span class="visually-hidden">lines added: </span>+{whole(added)}
    </span>{' '}
    <span class="diff-removed">
      <span class="visually-hidden">lines removed: </span>−{whole(removed)}
    </span>
  </span>
);

const SIGNS = { add: '+', remove: '−', same: ' ', hunk: ' ', note: ' ' } as const;

const Lines = ({ lines }: { readonly lines: readonly DiffLine[] }) => (
  <div class="diff-lines">
    {lines.map(({ kind, text, oldLine, newLine }, index) => (
      // Lines never move.
      // oxlint-disable-next-line react/no-array-index-key
      <div key={index} class={`diff-line diff-${kind}`}>
        <span class="diff-number" aria-hidden="true">
          {newLine ?? oldLine ?? ''}
        </span>
        <span class="diff-sign">{SIGNS[kind]}</span>
        <span class="diff-text">
          {visible(text.slice(0, MAX_LINE_CHARS))}
          {text.length > MAX_LINE_CHARS ? '…' : ''}
        </span>
      </div>
    ))}
  </div>
);
