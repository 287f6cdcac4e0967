import { itemFacts } from '../../canonical/request/item-facts.ts';
import { partsOf, withParts, type FilePart, type Item, type Part } from '../../canonical/request/item.ts';
import type { Rejection } from '../../canonical/failure/rejection.ts';
import { textOfFile, type NotTextReason } from '../../canonical/request/text-file.ts';
import { quoted } from '../../kit/text/display.ts';
import { placeOf, type History } from './fit-history.ts';

export interface FittedFiles {
  readonly history: History;
  readonly refused: readonly Rejection[];
}

/** For a backend that accepts no files: converts text files to text, and refuses others that have no text in their place. */
export const withoutFiles = (history: History): FittedFiles => {
  const { items, places } = history;
  if (!itemFacts(items).hasFile) return { history, refused: [] };
  const refused: Rejection[] = [];
  const fitted = items.map((item, index) => {
    const { field } = partsOf(item);
    return withFiles(item, (file, part) => {
      const text = textOf(file);
      if (typeof text === 'object') return text;
      const place = { item: placeOf(history, index) ?? index, of: field, part };
      refused.push({ path: { file: place }, ...WHY[text](nameOf(file)) });
      return file;
    });
  });
  return { history: { items: fitted, places }, refused };
};

/** The same after a backend has refused files: those that are not text are left to it. */
export const withTextFiles = (item: Item): Item =>
  withFiles(item, (file) => {
    const text = textOf(file);
    return typeof text === 'object' ? text : file;
  });

const withFiles = (item: Item, toPart: (file: FilePart, index: number) => Part): Item => {
  const { parts } = partsOf(item);
  if (!parts.some((part) => part.kind === 'file')) return item;
  return withParts(
    item,
    parts.map((part, index) => (part.kind === 'file' ? toPart(part, index) : part)),
  );
};

/** A request is planned more than once, and a file may have megabytes. */
const known = new WeakMap<FilePart, ReturnType<typeof textOfFile>>();

const textOf = (file: FilePart): ReturnType<typeof textOfFile> => {
  const text = known.get(file) ?? textOfFile(file);
  known.set(file, text);
  const { otherwise } = file;
  return typeof text === 'object' || otherwise === undefined ? text : { kind: 'text', text: otherwise };
};

const nameOf = ({ raw: { filename } }: FilePart): string =>
  typeof filename === 'string' ? `'${quoted(filename)}'` : 'without a name';

const WHY: Readonly<Record<NotTextReason, (name: string) => Omit<Rejection, 'path'>>> = {
  'not-text': (name) => ({
    kind: 'unsupported_file',
    why: `is the file ${name}, which is not a text file. Only text files (plain text, JSON, Markdown, CSV, source code) are supported`,
  }),
  'not-data': () => ({ kind: 'invalid_value', why: 'expected base64 data or a data URL in the file.' }),
  elsewhere: () => ({
    kind: 'unsupported_file',
    why: 'refers to a stored or published file. Send its content as data instead',
  }),
};
