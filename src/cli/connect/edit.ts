import { isDeepStrictEqual } from 'node:util';

import { PlainError } from '../explain.ts';
import type { ClientFile } from '../../connect/client.ts';
import { CannotEdit, UnreadableFile, shownPath } from '../../connect/formats/format.ts';
import { FORMATS, snippetOf } from '../../connect/formats.ts';
import { merge, unmerge, type MergeResult } from './merge.ts';
import { digestOf, type FileRecord, type Records } from './record.ts';
import {
  placeOnDisk,
  readTarget,
  requireWritable,
  writeTarget,
  type Target,
  deleteTarget,
} from './target.ts';

/** A file that will be changed. */
export interface Edit {
  readonly target: Target;
  /** The file without our settings; null if there was none. */
  readonly base: string | null;
  readonly merged: MergeResult;
  readonly format: ClientFile['format'];
  /** Of an earlier run for the same file. */
  readonly earlier: FileRecord | null;
}

/** A file cannot be changed. The message says why, and `snippet` is what the user may add by hand. */
export class NotMerged extends PlainError {
  readonly snippet: string;

  constructor(message: string, snippet: string) {
    super(message);
    this.snippet = snippet;
  }
}

interface Places {
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Plans the change of a file; writes nothing. Null: the file has these settings already. */
export const planEdit = async (file: ClientFile, records: Records, places: Places): Promise<Edit | null> => {
  const target = await readTarget(await placeOnDisk(file.place, places.home, places.environment));
  const earlier = (await records.read()).find(({ real }) => real === target.real) ?? null;
  try {
    const base = await baseOf(target, earlier, records);
    const merged = merge(FORMATS[file.format], base ?? '', file.settings);
    if (merged.text === (target.text ?? '')) return null;
    await requireWritable(target);
    return { target, base, merged, format: file.format, earlier };
  } catch (error) {
    if (!(error instanceof UnreadableFile || error instanceof CannotEdit || error instanceof PlainError))
      throw error;
    const why = error instanceof PlainError ? error.message : `${target.file}: ${error.message}.`;
    throw new NotMerged(why, snippetOf(file));
  }
};

/** The text as it would be had this command never run. */
const baseOf = async (
  target: Target,
  earlier: FileRecord | null,
  records: Records,
): Promise<string | null> => {
  if (earlier === null || target.text === null) return target.text;
  if (digestOf(target.text) === earlier.digest) return records.backupOf(earlier);
  return unmerge(FORMATS[earlier.format], target.text, earlier.changes).text;
};

/** The mode for a file with this text: that of the former file, but no other user may read a key. */
const modeFor = ({ target, merged }: Edit, key: string): number => {
  const mode = target.mode ?? 0o600;
  return merged.text.includes(key) ? mode & 0o700 : mode;
};

/**
 * Keeps the backups and records, then writes the files. Returns the paths of the backups. Throws if a file was changed since
 * it was planned.
 */
export const applyEdits = async (
  edits: readonly Edit[],
  records: Records,
  key: string,
): Promise<readonly string[]> => {
  for (const { target } of edits) {
    if (!isDeepStrictEqual(await readTarget(target.file), target))
      throw new PlainError(`${target.file} was changed meanwhile: run this command again.`);
  }
  const others = (await records.read()).filter(({ real }) =>
    edits.every(({ target }) => target.real !== real),
  );
  const made: FileRecord[] = [];
  for (const edit of edits) made.push(await recordOf(edit, records, key));
  await records.write([...others, ...made]);
  for (const [index, edit] of edits.entries()) {
    const firstFolder = await writeTarget(edit.target, edit.merged.text, modeFor(edit, key));
    const record = made[index];
    if (firstFolder !== null && record !== undefined) made[index] = { ...record, firstFolder };
  }
  await records.write([...others, ...made]);
  return made.flatMap(({ backup }) => (backup === null ? [] : [records.pathOf(backup)]));
};

const recordOf = async (edit: Edit, records: Records, key: string): Promise<FileRecord> => {
  const { target, base, merged, format, earlier } = edit;
  const { file, real, mode } = target;
  return {
    file,
    real,
    format,
    backup: base === null ? null : await records.keep(real, base),
    mode: earlier === null ? mode : earlier.mode,
    digest: digestOf(merged.text),
    changes: merged.changes,
    key,
    firstFolder: earlier?.firstFolder ?? null,
  };
};

/** How a file becomes what it was. */
interface UndoPlan {
  readonly record: FileRecord;
  readonly target: Target;
  /** Null: the file is deleted. The same as now: nothing is left to do. */
  readonly text: string | null;
  readonly mode: number;
  /** Settings that stay, because they were changed since. */
  readonly kept: readonly string[];
}

/** Plans to take back what was done to a file; writes nothing. */
export const planUndo = async (record: FileRecord, records: Records): Promise<UndoPlan> => {
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
    if (!(error instanceof UnreadableFile || error instanceof CannotEdit)) throw error;
    throw new PlainError(
      `${record.file} was changed since, and cannot be edited (${error.message}). Remove these settings by hand: ` +
        `${record.changes.flatMap(({ kind, path }) => (kind === 'parent' ? [] : [shownPath(path)])).join(', ')}.`,
    );
  }
};

/** Throws if the file was changed since it was planned. */
export const applyUndo = async ({ record, target, text, mode }: UndoPlan): Promise<void> => {
  if (text === target.text) return;
  if ((await readTarget(target.real)).text !== target.text)
    throw new PlainError(`${target.file} was changed meanwhile: run this command again.`);
  if (text === null) await deleteTarget(target.file, target.real, record.firstFolder);
  else await writeTarget(target, text, mode);
};
