import { diff } from 'node:util';

/** Unchanged lines that are shown around a change. */
const CONTEXT = 2;

/** By the kinds of `diff`. */
const SIGNS = { '-1': '+', 0: ' ', 1: '-' } as const;

/** The lines that differ, with a few around them. */
export const showDiff = (file: string, before: string | null, after: string | null): string => {
  const lines = diff(linesOf(before), linesOf(after)).map(([kind, line]) => ({ sign: SIGNS[kind], line }));
  const isNear = lines.map((_line, index) =>
    lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(({ sign }) => sign !== ' '),
  );
  const shown = lines.flatMap(({ sign, line }, index) => {
    if (isNear[index] === true) return [`${sign} ${line}`];
    return index === 0 || isNear[index - 1] === true ? ['  …'] : [];
  });
  const suffix = before === null ? ' (new)' : after === null ? ' (deleted)' : '';
  return [`${file}${suffix}`, ...shown, ''].map((line) => `${line}\n`).join('');
};

const linesOf = (text: string | null): string[] =>
  text === null || text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/);
