import { readFileSync } from 'node:fs';
import path from 'node:path';

import { parseSync, Visitor } from 'oxc-parser';

const ROOT = path.join(import.meta.dirname, '../..');

/** The titles of the tests in a file, as they are in the source: with the placeholders of `it.each`. */
export const testTitles = (file: string): readonly string[] => {
  const { program, errors } = parseSync(file, readFileSync(path.join(ROOT, file), 'utf8'));
  if (errors.length > 0) throw new Error(`${file} cannot be parsed`);
  const titles: string[] = [];
  new Visitor({
    CallExpression({ callee, arguments: [title] }) {
      if (!isTest(callee)) return;
      if (title?.type === 'Literal' && typeof title.value === 'string') titles.push(title.value);
      if (title?.type === 'TemplateLiteral')
        titles.push(title.quasis.map(({ value }) => value.raw).join('…'));
    },
  }).visit(program);
  return titles;
};

/** `it(…)`, or `it.each(…)(…)`. */
const isTest = (callee: unknown): boolean => {
  const node = callee as {
    readonly type: string;
    readonly name?: string;
    readonly callee?: unknown;
    readonly object?: unknown;
    readonly tag?: unknown;
  };
  if (node.type === 'Identifier') return node.name === 'it' || node.name === 'test';
  if (node.type === 'MemberExpression') return isTest(node.object);
  return node.type === 'CallExpression' && isTest(node.callee);
};
