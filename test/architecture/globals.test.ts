import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'oxc-parser';
import { expect, it } from 'vitest';

const ROOT = path.join(import.meta.dirname, '../..');

const PURE = [
  'kit',
  'canonical',
  'openai',
  'engine',
  'codex/capabilities',
  'codex/failures',
  'codex/sources',
  'codex/translate',
];

/** Where the pure layers meet the machine: everything else gets a clock, ids and bytes from here. */
const RIM: ReadonlySet<string> = new Set([
  'src/kit/system-ambient.ts',
  'src/kit/async/event-loop.ts',
  'src/kit/text/bytes.ts',
]);

/** Time, chance and the machine. Timers are allowed: they only decide when, not what. */
const FORBIDDEN: ReadonlySet<string> = new Set([
  'Buffer',
  'Date.now',
  'Math.random',
  'console',
  'crypto',
  'fetch',
  'new Date()',
  'performance',
  'process',
]);

interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

/** The global that a node uses, if it is one of these. Types are not values, and names of members are not globals. */
const globalsIn = (node: Node, found: string[] = []): readonly string[] => {
  if (/^TS(?:Type|Interface)/.test(node.type)) return found;
  if (node.type === 'Identifier') found.push(String(node['name']));
  if (node.type === 'NewExpression' && isNode(node['callee']) && node['callee']['name'] === 'Date') {
    if ((node['arguments'] as readonly unknown[]).length === 0) found.push('new Date()');
  }
  const isMember = node.type === 'MemberExpression' && node['computed'] === false;
  if (isMember && isNode(node['object']) && isNode(node['property'])) {
    found.push(`${String(node['object']['name'])}.${String(node['property']['name'])}`);
  }
  for (const [field, value] of Object.entries(node)) {
    if (isMember && field === 'property') continue;
    if (node.type === 'Property' && field === 'key' && node['computed'] === false) continue;
    for (const child of Array.isArray(value) ? (value as readonly unknown[]) : [value]) {
      if (isNode(child)) globalsIn(child, found);
    }
  }
  return found;
};

const usedIn = (text: string): readonly string[] => {
  const { program } = parseSync('x.ts', text);
  return globalsIn(program as unknown as Node).filter((name) => FORBIDDEN.has(name));
};

it('sees globals, and neither types nor members of the same name', () => {
  expect(usedIn('const a = Buffer.from(x); f(Date.now()); new Date(); g(process, { crypto });')).toEqual([
    'Buffer',
    'Date.now',
    'new Date()',
    'process',
    'crypto',
  ]);
  expect(usedIn('const a = (b: Buffer): Buffer | null => c.process({ fetch: new Date(5) });')).toEqual([]);
});

it('the pure layers read neither time nor chance nor the machine', () => {
  const files = PURE.flatMap((layer) => globSync(`src/${layer}/**/*.ts`, { cwd: ROOT })).filter(
    (file) => !file.endsWith('.test.ts') && !RIM.has(file),
  );
  expect(files.length).toBeGreaterThan(200);
  const used = files.flatMap((file) =>
    usedIn(readFileSync(path.join(ROOT, file), 'utf8')).map((name) => `${file}: ${name}`),
  );
  expect(used).toEqual([]);
});
