import { jsonObjectWithin, textIn, wellFormedJson } from '../../kit/json/json.ts';

/** Clients cut longer titles, even in the middle of a word. */
const MAX_TITLE = 50;
/** Longer lines are cut before cleaning. */
const MAX_LINE = 500;

/** Reduces a model's title to one line of plain text; null if nothing is left. */
export const cleanTitle = (text: string): string | null => {
  const line = withoutThinking(text)
    .split(/[\r\n]+/)
    .map((one) => one.trim())
    .find((one) => one !== '' && !one.startsWith('```'));
  const title = withinLength(undecorated(line?.slice(0, MAX_LINE) ?? ''));
  return title === '' ? null : title;
};

/** Extracts the JSON object with `title` and `summary` from a text; null if it is missing or incomplete. */
export const cleanSummary = (text: string): string | null => {
  const json = jsonObjectWithin(withoutThinking(text));
  if (json === null) return null;
  const title = cleanTitle(textIn(json, 'title'));
  const summary = textIn(json, 'summary').trim();
  return title === null || summary === '' ? null : wellFormedJson({ title, summary });
};

/** Removes `<think>…</think>`, which some models write into their answer. */
const withoutThinking = (text: string): string => {
  if (!text.trimStart().startsWith('<think>')) return text;
  const [, ...rest] = text.split('</think>');
  return rest.join('');
};

const undecorated = (line: string): string => {
  const title = line
    // Heading, list entry or quotation.
    .replace(/^(?:#{1,6}|[-*>])\s+/, '')
    .replaceAll(/\*\*([^*]+)\*\*/g, '$1')
    .replaceAll(/`+([^`]+)`+/g, '$1')
    .replace(/^title:\s*/i, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  // At most two levels of decoration occur, such as italics and quotes.
  return withoutPair(withoutPair(title));
};

const PAIRS: ReadonlySet<string> = new Set(['""', "''", '“”', '‘’', '«»', '„“', '「」', '**', '__']);

/** Removes a pair of quotes or emphasis marks around the whole title. */
const withoutPair = (title: string): string => {
  const inner = title.slice(1, -1).trim();
  const isPair = PAIRS.has(title.charAt(0) + title.charAt(title.length - 1));
  return isPair && inner !== '' && !inner.includes(title.charAt(0)) ? inner : title;
};

const CHARACTERS = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Cuts a title after a word if possible, else after a character. */
const withinLength = (title: string): string => {
  if (title.length <= MAX_TITLE) return title;
  const space = title.lastIndexOf(' ', MAX_TITLE);
  const head = space > MAX_TITLE / 2 ? title.slice(0, space) : wholeCharacters(title);
  return head.replace(/[\s,;:–—-]+$/, '');
};

const wholeCharacters = (title: string): string => {
  let end = 0;
  for (const { index, segment } of CHARACTERS.segment(title.slice(0, 2 * MAX_TITLE))) {
    if (index + segment.length > MAX_TITLE) break;
    end = index + segment.length;
  }
  return title.slice(0, end);
};
