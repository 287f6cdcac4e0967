/** A call as the model wrote it in a block. */
export interface WrittenCall {
  readonly name: string;
  /** What stands in the string, or, where no string stands there, its source as it is. */
  readonly input: string;
}

/** More calls than any model writes in one list, and more members than a call has. */
const MAX_ELEMENTS = 1_000;
/** A tool that is called without arguments. */
const NO_ARGUMENTS = '{}';

/** The calls in the JSON of a block, one or a list of them; null: it is no call. `source` is JSON that was scanned. */
export const readCalls = (source: string): readonly WrittenCall[] | null => {
  const sources = source.startsWith('[') ? elementsOf(source) : [source];
  if (sources === null) return null;
  const calls = sources.map(readCall);
  return calls.length > 0 && calls.every((call) => call !== null) ? calls : null;
};

const readCall = (source: string): WrittenCall | null => {
  if (!source.startsWith('{')) return null;
  const elements = elementsOf(source);
  if (elements === null) return null;
  const members = new Map(elements.map(memberOf));
  const name = members.get('name');
  if (name?.startsWith('"') !== true) return null;
  const input = members.get('arguments') ?? 'null';
  if (input === 'null') return { name: textOf(name), input: NO_ARGUMENTS };
  return { name: textOf(name), input: input.startsWith('"') ? textOf(input) : input };
};

/** What a string in JSON says. Line breaks that were written as such are line breaks. */
const textOf = (literal: string): string =>
  JSON.parse(
    // oxlint-disable-next-line no-control-regex
    literal.replaceAll(/[\u0000-\u001f]/g, (char) => JSON.stringify(char).slice(1, -1)),
  ) as string;

const memberOf = (source: string): readonly [string, string] => {
  const end = stringEnd(source, 0);
  return [textOf(source.slice(0, end)), source.slice(source.indexOf(':', end) + 1).trim()];
};

/** The sources of what an object or a list holds; null: too many. Reading them all would hold the event loop. */
const elementsOf = (source: string): readonly string[] | null => {
  const found: string[] = [];
  let depth = 0;
  let from = 1;
  for (let at = 1; at < source.length; at += 1) {
    const char = source[at];
    if (char === '"') at = stringEnd(source, at) - 1;
    else if (char === '{' || char === '[') depth += 1;
    else if ((char === '}' || char === ']') && depth > 0) depth -= 1;
    else if (depth === 0 && (char === ',' || char === '}' || char === ']')) {
      const one = source.slice(from, at).trim();
      if (one !== '') found.push(one);
      if (found.length > MAX_ELEMENTS) return null;
      from = at + 1;
    }
  }
  return found;
};

/** Behind the string that begins here. */
const stringEnd = (source: string, start: number): number => {
  let at = start + 1;
  while (at < source.length && source[at] !== '"') at += source[at] === '\\' ? 2 : 1;
  return at + 1;
};

/** A call as a model is told to write it, and as it is shown its own. */
export const writeCall = ({ name, input }: WrittenCall): string =>
  `${OPENING}${JSON.stringify({ name, arguments: input })}${CLOSING}`;

export const OPENING = '<tool_call>';
export const CLOSING = '</tool_call>';
