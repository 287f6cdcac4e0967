import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'oxc-parser';
import { describe, expect, it } from 'vitest';

/**
 * V8 makes a hidden class of its own for each object literal with a getter, for each generator function that is made
 * inside another function, once it is called, and for each class inside a function. Hidden classes are old from the
 * start, and hold the getter or the function with everything in its scope. So what a request holds would survive every
 * quick garbage collection, and wait for a full one.
 */

const ROOT = path.join(import.meta.dirname, '../..');

/** Made once in a process, or for something rare. */
const EXCEPTIONS = [
  // Of each JSON value whose tokens are counted; its scope has only that text.
  'src/canonical/tokens/countable.ts: generator',
  // While there are no models, and once for a backend.
  'src/codex/models/account-models.ts: getter',
  // Of each connected MCP server.
  'src/codex/relay/mcp/mcp-relay.ts: getter',
  // The run of a backend without a login.
  'src/compose/active-backend.ts: generator',
  'src/compose/active-backend.ts: getter',
  // Only if requests are captured.
  'src/features/captures/redacted.ts: generator',
  'src/http/listen/upgrade.ts: class',
  'src/store/sqlite/sqlite-file.ts: getter',
];

interface SyntaxNode {
  readonly type: string;
  readonly [member: string]: unknown;
}

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && typeof (value as SyntaxNode).type === 'string';

const isFunction = ({ type, body }: SyntaxNode): boolean => type.includes('Function') && isNode(body);

const isClass = ({ type }: SyntaxNode): boolean => type === 'ClassDeclaration' || type === 'ClassExpression';

const kindOf = (node: SyntaxNode): string | null => {
  if (node.type === 'Property' && node['kind'] === 'get') return 'getter';
  if (isFunction(node) && node['generator'] === true) return 'generator';
  return isClass(node) ? 'class' : null;
};

/** What is made inside functions. A method is made with its class. */
const madeInFunctions = (node: unknown, isInside: boolean): readonly string[] => {
  if (Array.isArray(node)) return node.flatMap((one) => madeInFunctions(one, isInside));
  if (!isNode(node)) return [];
  const kind = isInside ? kindOf(node) : null;
  const isMethod = node.type === 'MethodDefinition';
  const members = Object.values(isMethod && isNode(node['value']) ? node['value'] : node);
  return [
    ...(kind === null ? [] : [kind]),
    ...madeInFunctions(members, isInside || isMethod || isFunction(node)),
  ];
};

const inText = (text: string): readonly string[] =>
  madeInFunctions(parseSync('a.ts', text).program.body, false);

describe('what is made for each request', () => {
  it('is found in a source text', () => {
    expect(inText('const f = (g) => ({ get n() { return g; } });')).toEqual(['getter']);
    expect(inText('const f = (g) => ({ async *run() { yield g; } });')).toEqual(['generator']);
    expect(inText('const f = (g) => { class A { get n() { return g; } *m() {} } };')).toEqual(['class']);
    expect(
      inText('class A { get n() { return 1; } *m() {} } function* g() {} const a = { get n() {} };'),
    ).toEqual([]);
  });

  it('has no hidden class of its own', () => {
    const files = globSync('src/**/*.ts', {
      cwd: ROOT,
      exclude: ['**/*.test.ts', 'src/{cli,connect,demo}/**'],
    });
    expect(files.length).toBeGreaterThan(400);
    const found = files.flatMap((file) =>
      inText(readFileSync(path.join(ROOT, file), 'utf8')).map((kind) => `${file}: ${kind}`),
    );
    expect([...new Set(found)].toSorted()).toEqual(EXCEPTIONS.toSorted());
  });
});
