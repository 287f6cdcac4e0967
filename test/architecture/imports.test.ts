import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'oxc-parser';
import { describe, expect, it } from 'vitest';

const ROOT = path.join(import.meta.dirname, '../..');

const CENTRE = ['canonical', 'kit'];

/** What a layer may import besides itself: `codex` means all of codex, `node:` the modules of Node. */
const RULES: Readonly<Record<string, readonly string[]>> = {
  // Pure layers: no packages and no Node modules.
  kit: [],
  canonical: ['kit'],
  'codex/failures': [...CENTRE],
  'codex/translate': [...CENTRE, 'codex/failures', 'codex/protocol'],
  // Only types of home and translate.
  'codex/capabilities': [...CENTRE, 'codex/home', 'codex/translate'],
  'codex/sources': [...CENTRE, 'codex/failures', 'codex/protocol', 'codex/translate'],
  engine: [...CENTRE, 'codex'],
  // The client side and the backend side never see each other.
  apis: [...CENTRE, 'zod', 'turns/api.ts'],
  openai: [...CENTRE, 'apis', 'zod', 'turns/api.ts'],
  anthropic: [...CENTRE, 'apis', 'zod', 'turns/api.ts'],
  // The port that APIs implement: types of the centre.
  'turns/api.ts': [...CENTRE],
  'codex/protocol': ['kit'],
  'codex/rpc': ['kit', 'node:'],
  'codex/home': [...CENTRE, 'codex', 'node:'],
  'codex/login': [...CENTRE, 'codex', 'node:'],
  'codex/models': [...CENTRE, 'codex', 'node:'],
  'codex/relay': [...CENTRE, 'codex', 'node:', 'undici', 'ws'],
  'codex/worker': [...CENTRE, 'codex', 'node:'],
  codex: [...CENTRE, 'codex/protocol', 'codex/rpc', 'node:', 'undici'],
  // IO.
  observe: [...CENTRE, 'pino', 'pino-pretty', '@prometheus-io/client'],
  threads: ['kit', 'node:'],
  // The port for what is kept between requests, and its two databases. Only compose knows which one is used.
  'store/store.ts': [],
  // What all instances remember for the engine.
  'store/memory': [...CENTRE, 'engine', 'store/store.ts', 'node:'],
  store: [...CENTRE, 'store/store.ts', 'threads', 'node:', 'kysely', 'pg'],
  tokenizer: ['canonical', 'engine', 'gpt-tokenizer', 'kit', 'node:', 'threads'],
  config: [...CENTRE, 'zod', 'node:'],
  schemas: ['engine', 'kit', 'threads'],
  demo: [...CENTRE, 'schemas', 'threads', 'node:'],
  network: ['kit', 'node:', 'undici', 'ipaddr.js'],
  turns: [
    ...CENTRE,
    'turns/api.ts',
    'engine',
    'network',
    'observe',
    'store/store.ts',
    'threads',
    'node:',
    'ajv',
    'ajv-formats',
    'undici',
  ],
  http: [
    ...CENTRE,
    'anthropic',
    'apis',
    'openai',
    'store/store.ts',
    'turns',
    'turns/api.ts',
    'engine',
    'observe',
    'threads',
    'node:',
    'hono',
    '@hono/node-server',
    'busboy',
    'ipaddr.js',
    'ws',
  ],
  // The contract of features: types of what they get and bring.
  'compose/feature.ts': [
    ...CENTRE,
    'codex',
    'config',
    'engine',
    'http',
    'observe',
    'store',
    'store/store.ts',
    'turns',
    'turns/api.ts',
  ],
  // A feature hangs on the pipeline and knows no other feature.
  features: [
    ...CENTRE,
    'apis',
    'codex',
    'compose/feature.ts',
    'config',
    'engine',
    'http',
    'network',
    'observe',
    'openai',
    'store',
    'store/store.ts',
    'turns',
    'turns/api.ts',
    'zod',
    'node:',
    'version',
    '@opentelemetry',
    'kysely',
    'undici',
    'ws',
  ],
  // The clients that can be set up, and the formats of their settings files.
  connect: [...CENTRE, 'node:', 'smol-toml', 'yaml'],
  // Composition.
  compose: [
    ...CENTRE,
    'anthropic',
    'apis',
    'codex',
    'compose/feature.ts',
    'config',
    'connect',
    'demo',
    'engine',
    'features',
    'http',
    'network',
    'observe',
    'openai',
    'schemas',
    'store',
    'store/store.ts',
    'tokenizer',
    'turns',
    'threads',
    'turns/api.ts',
    'version',
    'node:',
    'undici',
  ],
  cli: [
    ...CENTRE,
    'codex',
    'compose',
    'config',
    'connect',
    // The doctor shows a model in its own process what codex adds to a request.
    'demo',
    // Their commands.
    'features',
    'http',
    'observe',
    'store',
    'store/store.ts',
    'version',
    'node:',
    'undici',
  ],
  // Entry points.
  main: ['cli'],
  version: ['node:'],
};

interface Import {
  readonly file: string;
  readonly specifier: string;
  readonly from: string;
  /** A layer, `node:…`, or a package. */
  readonly to: string;
}

const layerOf = (file: string): string => {
  const [first = '', second = ''] = path.relative('src', file).split(path.sep);
  return Object.hasOwn(RULES, `${first}/${second}`) ? `${first}/${second}` : path.basename(first, '.ts');
};

const specifiersOf = (file: string): string[] => {
  const text = readFileSync(path.join(ROOT, file), 'utf8');
  const { module, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed`);
  return [
    ...module.staticImports.map((one) => one.moduleRequest.value),
    ...module.staticExports.flatMap((one) =>
      one.entries.flatMap((entry) => entry.moduleRequest?.value ?? []),
    ),
    // A computed import becomes a package name that no rule allows.
    ...module.dynamicImports.map((one) => text.slice(one.moduleRequest.start + 1, one.moduleRequest.end - 1)),
  ];
};

const importsOf = (file: string): Import[] =>
  specifiersOf(file).map((specifier) => {
    const to = specifier.startsWith('.') ? layerOf(path.join(path.dirname(file), specifier)) : specifier;
    return { file, specifier, from: layerOf(file), to };
  });

const isAllowed = ({ from, to }: Import): boolean =>
  to === from ||
  (RULES[from] ?? []).some((one) => to === one || to.startsWith(one === 'node:' ? one : `${one}/`));

const files = globSync('src/**/*.ts', { cwd: ROOT }).filter(
  (file) => !file.endsWith('.test.ts') && !file.includes(path.join('protocol', 'generated')),
);
const imports = files.flatMap(importsOf);
const said = (list: readonly Import[]): string[] => list.map((one) => `${one.file} → ${one.specifier}`);

describe('imports', () => {
  it('are found', () => {
    expect(files.length).toBeGreaterThan(90);
    expect(imports.length).toBeGreaterThan(300);
    expect(
      Object.keys(RULES).toSorted(),
      'A new folder of src needs a row in RULES, and one in docs/architecture.md; a row without a folder goes.',
    ).toEqual([...new Set(files.map(layerOf))].toSorted());
  });

  it('follow the layers', () => {
    expect(
      said(imports.filter((one) => !isAllowed(one))),
      'Each folder imports only what its row in RULES allows. Move the code to a folder that may import it, or pass the value in from src/compose; a new row is a change of the architecture (docs/architecture.md).',
    ).toEqual([]);
  });

  it('of a feature are only in the list, in the command line, and in the feature itself', () => {
    const featureOf = (file: string): string | null => /^src\/features\/([^/]+)\//.exec(file)?.[1] ?? null;
    const others = imports.filter(({ file, specifier }) => {
      if (!specifier.startsWith('.')) return false;
      const to = featureOf(path.posix.join(path.posix.dirname(file), specifier));
      return (
        to !== null &&
        to !== featureOf(file) &&
        file !== 'src/compose/features.ts' &&
        !file.startsWith('src/cli/')
      );
    });
    expect(said(others)).toEqual([]);
  });

  it('have no cycles', () => {
    const next = new Map(
      [...new Set(imports.map((one) => one.from))].map((from) => [
        from,
        new Set(imports.filter((one) => one.from === from && one.to !== from).map((one) => one.to)),
      ]),
    );
    const reached = (from: string): ReadonlySet<string> => {
      // The set grows while it is iterated: each layer once.
      const seen = new Set(next.get(from));
      for (const layer of seen) for (const more of next.get(layer) ?? []) seen.add(more);
      return seen;
    };
    expect(
      [...next.keys()].filter((layer) => reached(layer).has(layer)),
      'No two folders import each other, directly or through a third. Move what both need into the lower one, or define a port there.',
    ).toEqual([]);
  });

  it('have rules that keep pure layers pure, the two sides separate, and http at the edge', () => {
    const outside = (layer: string): string[] =>
      (RULES[layer] ?? []).filter((one) => one === 'node:' || !Object.keys(RULES).includes(one));
    expect(
      [
        'kit',
        'canonical',
        'codex/capabilities',
        'codex/failures',
        'codex/sources',
        'codex/translate',
        'engine',
      ].flatMap(outside),
    ).toEqual([]);
    const whoMayImport = (layer: string): string[] =>
      Object.keys(RULES).filter((from) => from !== layer && RULES[from]?.includes(layer));
    expect(whoMayImport('http')).toEqual(['compose/feature.ts', 'features', 'compose', 'cli']);
    expect(whoMayImport('openai')).toEqual(['http', 'features', 'compose']);
    expect(RULES['codex']).not.toContain('openai');
  });
});
