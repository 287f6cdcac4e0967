import { jsonObjectWithin, textIn, wellFormedJson } from '../../kit/json/json.ts';

/** Longer titles are cut by the clients themselves, wherever that falls. */
const MAX_TITLE = 50;
/** More of a line is not looked at. */
const MAX_LINE = 500;

/** One line of plain text, as models write titles with all kinds of decoration; null: there is none. */
export const titleOf = (text: string): string | null => {
  const line = withoutThought(text)
    .split(/[\r\n]+/)
    .map((one) => one.trim())
    .find((one) => one !== '' && !one.startsWith('```'));
  const title = withinLength(undecorated(line?.slice(0, MAX_LINE) ?? ''));
  return title === '' ? null : title;
};

/** The JSON that is somewhere in the text, with both of its members; null: there is none. */
export const summaryOf = (text: string): string | null => {
  const json = jsonObjectWithin(withoutThought(text));
  if (json === null) return null;
  const title = titleOf(textIn(json, 'title'));
  const summary = textIn(json, 'summary').trim();
  return title === null || summary === '' ? null : wellFormedJson({ title, summary });
};

/** Some models think aloud in their answer. */
const withoutThought = (text: string): string => {
  if (!text.trimStart().startsWith('<think>')) return text;
  const [, ...behind] = text.split('</think>');
  return behind.join('');
};

const undecorated = (line: string): string => {
  const title = line
    // A heading, an entry of a list, a quotation.
    .replace(/^(?:#{1,6}|[-*>])\s+/, '')
    .replaceAll(/\*\*([^*]+)\*\*/g, '$1')
    .replaceAll(/`+([^`]+)`+/g, '$1')
    .replace(/^title:\s*/i, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  // In italics and in quotes is the most that was seen.
  return withoutPair(withoutPair(title));
};

const PAIRS: ReadonlySet<string> = new Set(['""', "''", '“”', '‘’', '«»', '„“', '「」', '**', '__']);

/** Without what stands around all of it. */
const withoutPair = (title: string): string => {
  const inner = title.slice(1, -1).trim();
  const isPair = PAIRS.has(title.charAt(0) + title.charAt(title.length - 1));
  return isPair && inner !== '' && !inner.includes(title.charAt(0)) ? inner : title;
};

const CHARACTERS = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Cut behind a word where there is one, else behind a character. */
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
