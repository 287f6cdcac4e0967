import type { Hints } from '../schemas/sample-value.ts';

/** Finds topic words, phrases and numbers in a user's text with simple patterns. */

/** Words that do not identify a topic, including those that are common in tool descriptions. */
const STOP_WORDS = new Set(
  `a about all also an and any are as ask at be been but by call can could data demo did do does for from function get
  give given has have hello help here how i if in info information into is it its just know like list make me my need no
  not now of on one or our out please query result return set should show some tell than thanks that the their them then
  there these they this to tool up use used user using value want was we were what when where which who why will with
  would you your`.split(/\s+/),
);

const fold = (word: string): string => {
  const lower = word.toLowerCase();
  return lower.length > 3 && lower.endsWith('s') && !lower.endsWith('ss') ? lower.slice(0, -1) : lower;
};

const isMeaningful = (word: string): boolean =>
  word.length >= 3 && !STOP_WORDS.has(word.toLowerCase()) && !STOP_WORDS.has(fold(word));

/** Splits `getWeather_now` into three words. */
const splitNames = (text: string): string =>
  text.replaceAll(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, ' ').replaceAll('_', ' ');

const wordsOf = (text: string): readonly string[] => text.match(/\p{L}[\p{L}\p{M}'’]*/gu) ?? [];

/** The words that may identify the topic of a text, in lower case and without a plural s. */
export const topicWords = (text: string): ReadonlySet<string> =>
  new Set(wordsOf(splitNames(text)).filter(isMeaningful).map(fold));

/** Matches `notes.txt`, `src/main.ts` and `/etc/hosts.conf`, but not `e.g.` or `1.5`. */
const FILE_NAMES = /(?<![\w./~-])[\w./~-]{1,200}\.[a-z]\w{1,9}(?![\w/])/giu;

/**
 * Candidates for string arguments, best first: file names, capitalised names inside a sentence, those at the
 * start of a sentence, then any other topic word.
 */
export const phrasesOf = (text: string): readonly string[] => {
  const inside: string[] = [];
  const atStart: string[] = [];
  for (const match of text.matchAll(/\p{Lu}[\p{L}\p{M}\p{N}'’-]*(?: \p{Lu}[\p{L}\p{M}\p{N}'’-]*)*/gu)) {
    const startsSentence = /(?:^|[.!?:\n])\s*$/u.test(text.slice(0, match.index));
    const phrase = startsSentence ? withoutOpening(match[0]) : match[0];
    if (phrase === '') continue;
    (startsSentence && phrase === match[0] ? atStart : inside).push(phrase);
  }
  const plain = wordsOf(text).filter((word) => isMeaningful(word) && !/^\p{Lu}/u.test(word));
  return [...new Set([...(text.match(FILE_NAMES) ?? []), ...inside, ...atStart, ...plain])];
};

/** Drops leading stop words: "Is Paris" becomes "Paris". */
const withoutOpening = (phrase: string): string => {
  const words = phrase.split(' ');
  while (words[0] !== undefined && !isMeaningful(words[0])) words.shift();
  return words.join(' ');
};

export const numbersOf = (text: string): readonly number[] =>
  (text.match(/(?<![\p{L}\p{N}])-?\d{1,12}(?:\.\d{1,6})?(?![\p{L}\p{N}])/gu) ?? []).map(Number);

/** Values from a text that may fill a schema. */
export const hintsOf = (text: string): Hints => ({
  text,
  phrases: phrasesOf(text),
  numbers: numbersOf(text),
  word: 'demo',
});

/** Puts a text on one line and truncates it with an ellipsis. */
export const shorten = (text: string, length: number): string => {
  const line = text.replaceAll(/\s+/gu, ' ').trim();
  const characters = Array.from(line);
  return characters.length <= length
    ? line
    : `${characters
        .slice(0, length - 1)
        .join('')
        .trimEnd()}…`;
};
