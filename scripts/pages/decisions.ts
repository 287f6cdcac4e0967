import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

const FOLDER = path.join(import.meta.dirname, '../../docs/decisions');

/** The index of the decision records, and the numbers that have none. */
export const describeDecisions = (): string => {
  const records = globSync('0*.md', { cwd: FOLDER }).toSorted().map(titled);
  const numbers = new Set(records.map(({ number }) => number));
  const last = Math.max(...numbers);
  const gaps = Array.from({ length: last }, (_, at) => at + 1).filter((number) => !numbers.has(number));
  return [
    '# Decisions',
    '',
    'One record per decision: its context, the decision, its consequences. A decision is not changed in place: a later record replaces an',
    'earlier one and says so. Names in old records may be those of their time.',
    '',
    ...records.map(({ number, file, title }) => `- [${digits(number)}](${file}): ${title}`),
    '',
    '## Numbers without a record',
    '',
    'Numbers are handed out before the work begins, because several people write at the same time. These were not used:',
    `${gaps.map(digits).join(', ')}.`,
    '',
  ].join('\n');
};

const titled = (file: string) => {
  const [, number, title] = /^# (\d{4}): (.+)/.exec(readFileSync(path.join(FOLDER, file), 'utf8')) ?? [];
  if (number === undefined || !file.startsWith(`${number}-`))
    throw new Error(`docs/decisions/${file} does not begin with '# NNNN: title'`);
  return { number: Number(number), file, title };
};

const digits = (number: number): string => String(number).padStart(4, '0');
