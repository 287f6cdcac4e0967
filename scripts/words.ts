/** Prints every phrase that readers stumble over, with what to write instead, and exits with 1 if there is one. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.join(import.meta.dirname, '..');
const SCANNED = [
  '{src,test,scripts,bench,docs,examples,console}/**/*.{ts,tsx,mjs,py,sh,md,html,css}',
  '{README,CONTRIBUTING}.md',
];
const NOT_SCANNED = /^src\/codex\/protocol\/generated\/|^scripts\/words|^test\/architecture\/words/;

/** A space in a pattern also matches a line break within a comment. */
const phrase = (pattern: string): RegExp =>
  new RegExp(
    String.raw`(?<![\w-])(?:${pattern})(?![\w-])`.replaceAll(' ', String.raw`(?:[ \t]|\n\s*(?:\*|//|#|>)?)+`),
    'gi',
  );

const WORDS: readonly (readonly [RegExp, string])[] = [
  [phrase('nobody'), '"no one", "no client", or name what is missing'],
  [phrase('somebody|anybody|everybody'), 'name who: the client, the caller, another process'],
  [phrase('whoever|whom|whomever'), 'name who: the client, the caller, the one that'],
  [
    phrase('(?:is|are|was|were|be|been|being|not|never) told'),
    '"is sent", "is reported", "is logged", "knows"',
  ],
  [phrase('told (?:of|about)'), '"described", "informed about", "sent"'],
  [
    phrase('(?:stands?|stood|standing) (?:for|behind|before|beside|in front of)'),
    '"means", "follows", "precedes"',
  ],
  [
    phrase('(?:comes?|came|coming|goes|go|put|written|follows?|ends|ended) behind|one behind the other'),
    '"after"',
  ],
  [phrase('(?<!there |choice )(?:is|are|was|were) none'), '"is not one", "is missing", "is invalid"'],
  [
    phrase(String.raw`(?<!there )(?:is|are|was|were) no (?!longer|one|more|less|\w+er than)\w+`),
    '"is not a …", or what it is',
  ],
  [phrase('beside'), '"besides" or "in addition to"; "next to" for a place'],
  [phrase('without a word'), '"silently", "without an error"'],
  [phrase('all the same'), '"anyway", "still"'],
  [phrase('for want of'), '"for lack of"'],
  [phrase('what of'), '"which part of", "the … of"'],
];

interface Hit {
  readonly file: string;
  readonly line: number;
  readonly words: string;
  readonly instead: string;
}

/** Every rejected phrase of a text. */
export const findWords = (file: string, text: string): readonly Hit[] =>
  WORDS.flatMap(([pattern, instead]) =>
    [...text.matchAll(pattern)].map((match) => ({
      file,
      line: text.slice(0, match.index).split('\n').length,
      words: match[0].replaceAll(/\s+/g, ' '),
      instead,
    })),
  );

if (import.meta.main) {
  const files = globSync(SCANNED, { cwd: ROOT, exclude: ['**/node_modules', 'console/dist'] })
    .filter((file) => !NOT_SCANNED.test(file))
    .toSorted();
  const hits = files.flatMap((file) => findWords(file, readFileSync(path.join(ROOT, file), 'utf8')));
  for (const { file, line, words, instead } of hits)
    console.error(`${file}:${line}: "${words}": write ${instead}`);
  if (hits.length > 0) process.exitCode = 1;
}
