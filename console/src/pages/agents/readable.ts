/**
 * Characters that change the order of the text around them, or that nothing shows: they can make a command look like another
 * one. Joiners are parts of emoji and of some scripts.
 */
const HIDDEN = /(?![\t\n\u200C\u200D])[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** The text with its hidden characters spelt out. */
export const visible = (text: string): string =>
  text.replaceAll(
    HIDDEN,
    (one) => `⟨U+${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`,
  );

interface ProposalFact {
  readonly word: string;
  readonly value: string;
}

/** What else of a call decides about what would run, besides its command or patch. */
export const proposalFacts = (
  input: Readonly<Record<string, unknown>>,
  cwd: unknown,
): readonly ProposalFact[] => {
  const { shell, workdir } = input;
  const facts = [
    { word: 'In', value: workdir ?? cwd },
    { word: 'With the shell', value: shell },
  ];
  return facts.flatMap(({ word, value }) =>
    typeof value === 'string' && value !== '' ? [{ word, value: visible(value) }] : [],
  );
};

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
