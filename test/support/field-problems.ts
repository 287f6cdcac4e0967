import type { JsonObject } from '../../src/kit/json/json.ts';
import type { Sent } from './read-and-sent.ts';
import { fieldsOf, type FieldCase, type FieldWalk } from './request-fields.ts';
import type { Shape } from './sdk-types.ts';

interface Check {
  readonly send: (body: JsonObject) => Sent;
  readonly walk: FieldWalk;
  /**
   * Why a field does not reach a provider, by its path, which includes the fields below it. A path after `*` may be
   * anywhere, and with `$` it does not include the fields below it.
   */
  readonly exceptions: Readonly<Record<string, string>>;
}

/** The fields of a request type that do not reach a provider, and the exceptions that no field needs. */
export const fieldProblems = (shape: Shape, { send, walk, exceptions }: Check) => {
  const isIn = (place: string, row: string): boolean => {
    if (row.startsWith('*'))
      return row.endsWith('$') ? place.endsWith(row.slice(1, -1)) : place.includes(row.slice(1));
    return place.startsWith(row) && /^(?:$|[.[(])/.test(place.slice(row.length));
  };
  const problems = new Set<string>();
  const used = new Set<string>();
  for (const field of fieldsOf(shape, walk)) {
    const row = Object.keys(exceptions).find((one) => isIn(field.place, one));
    if (row !== undefined && used.has(row)) continue;
    const problem = problemWith(field, send);
    if (problem === null) continue;
    if (row === undefined) problems.add(`${field.place}: ${problem}`);
    else used.add(row);
  }
  return { problems: [...problems], unused: Object.keys(exceptions).filter((row) => !used.has(row)) };
};

/** `input[message].content` → `input`, `content`. */
const namesIn = (place: string): readonly string[] =>
  place.replaceAll(/\[[^\]]*\]|\([^)]*\)/g, '').split('.');

/** What is wrong with a field; null if it reaches the backend. */
const problemWith = ({ place, given, without }: FieldCase, send: Check['send']): string | null => {
  const base = without === null ? null : send(without);
  const names = namesIn(place);
  const isNamed = (ignored: string): boolean =>
    namesIn(ignored).every((name, index) => name === names[index]);
  let isSeen = given.length === 0;
  for (const { value, body } of given) {
    const sent = send(body);
    if (sent.kind === 'refused') return `${JSON.stringify(value)} is refused: ${sent.message}`;
    if (sent.ignored.some(isNamed)) return `${JSON.stringify(value)} is ignored`;
    isSeen ||= base?.kind !== 'sent' || JSON.stringify(base.body) !== JSON.stringify(sent.body);
  }
  return isSeen ? null : 'has no effect';
};
