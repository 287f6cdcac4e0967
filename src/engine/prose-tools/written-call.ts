/** A call as the model wrote it in a block. */
export interface WrittenCall {
  readonly name: string;
  /** The content of the arguments string, or the source of arguments that are not a string. */
  readonly input: string;
}

/** More calls than any model writes in one list, and more members than a call has. */
const MAX_ELEMENTS = 1_000;

/** Reads one call or a list of calls from JSON that was scanned; null: it is something else. */
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
  if (input === 'null') return { name: textOf(name), input: '{}' };
  return { name: textOf(name), input: input.startsWith('"') ? textOf(input) : input };
};

/** Decodes a JSON string, also one with raw line breaks. */
const textOf = (literal: string): string =>
  JSON.parse(
    // oxlint-disable-next-line no-control-regex
    literal.replaceAll(/[\u0000-\u001f]/g, (char) => JSON.stringify(char).slice(1, -1)),
  ) as string;

const memberOf = (source: string): readonly [string, string] => {
  const end = stringEnd(source, 0);
  return [textOf(source.slice(0, end)), source.slice(source.indexOf(':', end) + 1).trim()];
};

/** The sources of the members of an object or a list; null: too many, which would block the event loop. */
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

/** The position after the string that begins here. */
const stringEnd = (source: string, start: number): number => {
  let at = start + 1;
  while (at < source.length && source[at] !== '"') at += source[at] === '\\' ? 2 : 1;
  return at + 1;
};

/** Writes a call as the model must, for examples and in the history. */
export const writeCall = ({ name, input }: WrittenCall): string =>
  `${OPENING}${JSON.stringify({ name, arguments: input })}${CLOSING}`;

export const OPENING = '<tool_call>';
export const CLOSING = '</tool_call>';
