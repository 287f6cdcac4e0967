/** Characters that change the order of the text around them, or that nothing shows: they can make a command look like another one. */
// oxlint-disable-next-line no-control-regex -- Control characters are what it finds.
const HIDDEN = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/g;

/** The text with its hidden characters spelt out. */
export const visible = (text: string): string =>
  text.replaceAll(
    HIDDEN,
    (one) => `⟨U+${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`,
  );

const SHELL = /^(?:\/\S*\/)?(?:ba|z|da)?sh -l?c ([\s\S]+)$/;

/** The command as the model wrote it: codex runs it as `/bin/bash -lc '…'`. */
export const shownCommand = (command: string): string => {
  const script = SHELL.exec(command)?.[1];
  return visible(script === undefined ? command : (oneWord(script) ?? script));
};

/** In a shell, one word may consist of parts with different quotes: `'a "'"b"`. */
const PARTS = /'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|([^\s'"\\]+)/y;

/** The word that a text is for a shell; null: it is not exactly one. */
const oneWord = (text: string): string | null => {
  let word = '';
  let at = 0;
  while (at < text.length) {
    PARTS.lastIndex = at;
    const match = PARTS.exec(text);
    if (match === null) return null;
    const [whole, single, double, escaped, plain] = match;
    word += single ?? double?.replaceAll(/\\(["\\$`])/g, '$1') ?? escaped ?? plain ?? '';
    at += whole.length;
  }
  return word;
};

/** `812 B`, `48 KB`, `4.1 MB`. */
export const size = (chars: number): string =>
  chars < 1024
    ? `${chars} B`
    : chars < 1024 * 1024
      ? `${Math.round(chars / 1024)} KB`
      : `${(chars / 1024 / 1024).toFixed(1)} MB`;

/** Cuts a long text at a word, where there is one. */
export const shortened = (text: string, most: number): string => {
  if (text.length <= most) return text;
  const cut = text.slice(0, most);
  const space = cut.lastIndexOf(' ');
  return `${space > most / 2 ? cut.slice(0, space) : cut}…`;
};
