import { PlainError } from '../explain.ts';
import { CannotEdit, shownPath, Unreadable } from '../../connect/formats/format.ts';
import { FORMATS } from '../../connect/formats.ts';
import { unmerge } from './merge.ts';
import { digestOf, type FileRecord, type Records } from './record.ts';
import { deleteTarget, readTarget, requireWritable, writeTarget, type Target } from './target.ts';

/** How a file becomes what it was. */
export interface Undoing {
  readonly record: FileRecord;
  readonly target: Target;
  /** Null: the file is deleted. The same as now: nothing is left to do. */
  readonly text: string | null;
  readonly mode: number;
  /** Settings that stay, because they were changed since. */
  readonly kept: readonly string[];
}

/** Plans to take back what was done to a file; writes nothing. */
export const planUndo = async (record: FileRecord, records: Records): Promise<Undoing> => {
  const target = { ...(await readTarget(record.real)), file: record.file };
  const mode = record.mode ?? target.mode ?? 0o600;
  const asIs = { record, target, mode, text: target.text, kept: [] };
  if (target.text === null) return asIs;
  const before = await records.backupOf(record);
  if (target.text === before) return asIs;
  await requireWritable(target);
  if (digestOf(target.text) === record.digest) return { ...asIs, text: before };
  try {
    const { text, kept } = unmerge(FORMATS[record.format], target.text, record.changes);
    const isEmptied = before === null && ['', '{}'].includes(text.replaceAll(/\s/g, ''));
    return { ...asIs, text: isEmptied ? null : text, mode: target.mode ?? mode, kept: kept.map(shownPath) };
  } catch (error) {
    if (!(error instanceof Unreadable || error instanceof CannotEdit)) throw error;
    throw new PlainError(
      `${record.file} was changed since, and cannot be edited (${error.message}). Remove these settings by hand: ` +
        `${record.changes.flatMap(({ kind, path }) => (kind === 'parent' ? [] : [shownPath(path)])).join(', ')}.`,
    );
  }
};

/** Throws if the file was changed since it was planned. */
export const applyUndo = async ({ record, target, text, mode }: Undoing): Promise<void> => {
  if (text === target.text) return;
  if ((await readTarget(target.real)).text !== target.text)
    throw new PlainError(`${target.file} was changed meanwhile: run this command again.`);
  if (text === null) await deleteTarget(target.file, target.real, record.firstFolder);
  else await writeTarget(target, text, mode);
};
