import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

const FOLDER = path.join(import.meta.dirname, '../../docs/decisions');

/** The index of the decision records. Throws if a number is missing. */
export const describeDecisions = (): string => {
  const records = globSync('0*.md', { cwd: FOLDER }).toSorted().map(titled);
  const odd = records.find(({ number }, at) => Number(number) !== at + 1);
  if (odd) throw new Error(`docs/decisions/${odd.file}: give a new record the next free number`);
  return [
    '# Decisions',
    '',
    'Why the server is as it is: one screen for each subject, with what was decided, measured and rejected (November 2026). A decision that changes is changed in its record, in the same',
    'commit as the code; git has the earlier text. A new subject gets the next free number. What users need to know is on the other pages.',
    '',
    ...records.map(({ number, file, title }) => `- [${number}](${file}): ${title}`),
    '',
  ].join('\n');
};

const titled = (file: string) => {
  const [, number, title] = /^# (\d{4}): (.+)/.exec(readFileSync(path.join(FOLDER, file), 'utf8')) ?? [];
  if (number === undefined || !file.startsWith(`${number}-`))
    throw new Error(`docs/decisions/${file} does not begin with '# NNNN: title'`);
  return { number, file, title };
};
