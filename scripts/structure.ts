/**
 * Measures how the sources are divided: figures, not descriptions. Each figure has a limit and says what to do when it is
 * exceeded. A limit above its target is the value at the time of writing, for the walk with a tenth more, because chunks end
 * where the machine lets them: the figure must not grow.
 *
 *   node scripts/structure.ts             the table
 *   node scripts/structure.ts --list NAME every place that a figure counts
 *   node scripts/structure.ts --walk      also runs a request and counts its files and calls (needs no network)
 *   node scripts/structure.ts --root DIR  another copy of the sources, for example of an earlier commit
 */
import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';

import { parseSync } from 'oxc-parser';

const ROOT = path.join(import.meta.dirname, '..');

interface Figure {
  readonly title: string;
  /** More fails the tests. */
  readonly limit: number;
  /** Where the limit is to go; equal to it once it is reached. */
  readonly target: number;
  /** What to do when the limit is exceeded. */
  readonly remedy: string;
}

export const FIGURES = {
  filesPer10k: {
    title: 'files per 10,000 lines',
    limit: 90,
    target: 90,
    remedy: 'Fold a file that only its neighbour imports into that neighbour.',
  },
  lonely: {
    title: 'files under 60 lines whose only importer is in the same folder',
    limit: 25,
    target: 25,
    remedy:
      'Move its content into the importer, unless it has a second idea or a test that reads better alone.',
  },
  longest: {
    title: 'lines of the longest file',
    limit: 700,
    target: 700,
    remedy: 'Split it where a second idea begins: one file, one whole idea.',
  },
  featureImports: {
    title: 'imports of a feature from outside',
    limit: 0,
    target: 0,
    remedy:
      'Only src/compose/features*.ts and src/cli import src/features/<name>. A feature reaches the rest of the server through the ports it returns from `open`.',
  },
  clashes: {
    title: 'exported names that exist twice',
    limit: 20,
    target: 20,
    remedy: 'One name, one thing: rename one of the two after what distinguishes it.',
  },
  participles: {
    title: 'interfaces named by a bare participle',
    limit: 15,
    target: 15,
    remedy: 'Name the concept, or pass the arguments: a bag of left-over arguments is not a concept.',
  },
  picks: {
    title: 'Pick and Omit',
    limit: 230,
    target: 230,
    remedy: 'Name the smaller interface that is meant, and let the larger one extend it.',
  },
  composeFiles: {
    title: 'files in src/compose',
    limit: 13,
    target: 12,
    remedy:
      'Wiring of one feature belongs to its folder in src/features; wiring with one importer to that importer.',
  },
  appImports: {
    title: 'imports of src/compose/app.ts',
    limit: 16,
    target: 16,
    remedy: 'app.ts opens a list of features: what it imports for one of them belongs to that feature.',
  },
  walkFiles: {
    title: 'files that a plain streamed request touches',
    limit: 240,
    target: 230,
    remedy: 'Fold files that are only called in a row; skip steps that do nothing for a plain request.',
  },
  walkCalls: {
    title: 'calls of a plain streamed request, without those of its deltas',
    limit: 3_800,
    target: 3_600,
    remedy: '`npm run bench:calls -- --top 40` names the most called functions.',
  },
  walkCallsPerDelta: {
    title: 'calls per delta',
    limit: 150,
    target: 150,
    remedy: '`npm run bench:calls -- --top 40` names the most called functions.',
  },
} as const satisfies Readonly<Record<string, Figure>>;

export type FigureName = keyof typeof FIGURES;

interface Measurement {
  readonly value: number;
  /** The places that the figure counts. */
  readonly places: readonly string[];
}

interface SourceFile {
  readonly file: string;
  readonly text: string;
  readonly lines: number;
  /** The files that it imports, relative to the root. */
  readonly imports: readonly string[];
  /** The names that it declares and exports. */
  readonly exports: readonly string[];
}

const readSource = (root: string, file: string): SourceFile => {
  const text = readFileSync(path.join(root, file), 'utf8');
  const { module, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed`);
  const entries = module.staticExports.flatMap((one) => one.entries);
  const specifiers = [
    ...module.staticImports.map((one) => one.moduleRequest.value),
    ...entries.flatMap((entry) => entry.moduleRequest?.value ?? []),
    ...module.dynamicImports.map((one) => text.slice(one.moduleRequest.start + 1, one.moduleRequest.end - 1)),
  ];
  return {
    file,
    text,
    lines: text.split('\n').length - 1,
    imports: [...new Set(specifiers.filter((one) => one.startsWith('.')))].map((one) =>
      path.join(path.dirname(file), one),
    ),
    exports: entries.flatMap(({ moduleRequest, exportName }) =>
      moduleRequest === null && exportName.name !== null ? [exportName.name] : [],
    ),
  };
};

const SMALL_LINES = 60;

/** Small files that only one file of the same folder imports. */
const lonelyAmong = (sources: readonly SourceFile[]): readonly string[] => {
  const importers = new Map<string, string[]>();
  for (const { file, imports } of sources)
    for (const imported of imports) importers.set(imported, [...(importers.get(imported) ?? []), file]);
  return sources.flatMap(({ file, lines }) => {
    const [importer, ...others] = importers.get(file) ?? [];
    const isLonely =
      lines < SMALL_LINES &&
      importer !== undefined &&
      others.length === 0 &&
      path.dirname(importer) === path.dirname(file);
    return isLonely ? [`${file} (${lines} lines), imported by ${path.basename(importer)}`] : [];
  });
};

const FEATURE = /^src\/features\/([^/]+)\//;
const MAY_IMPORT_FEATURES = /^src\/compose\/features[^/]*\.ts$|^src\/cli\//;

const featureImportsAmong = (sources: readonly SourceFile[]): readonly string[] =>
  sources.flatMap(({ file, imports }) => {
    if (MAY_IMPORT_FEATURES.test(file)) return [];
    const own = FEATURE.exec(file)?.[1];
    return imports
      .filter((imported) => FEATURE.test(imported) && FEATURE.exec(imported)?.[1] !== own)
      .map((imported) => `${file} → ${imported}`);
  });

const clashesAmong = (sources: readonly SourceFile[]): readonly string[] => {
  const files = new Map<string, string[]>();
  for (const { file, exports } of sources)
    for (const name of exports) files.set(name, [...(files.get(name) ?? []), file]);
  return [...files]
    .filter(([, list]) => list.length > 1)
    .map(([name, list]) => `${name}: ${list.join(', ')}`);
};

/** Participles that do not end with -ed or -ing. */
const IRREGULAR = new Set(
  'Begun Bound Broken Brought Built Chosen Cut Done Drawn Driven Fed Found Given Gone Heard Held Hidden Kept Known Left Lent Lost Made Met Paid Put Read Said Seen Sent Shown Spent Split Spoken Spun Taken Thrown Told Understood Won Worn Woken Written'.split(
    ' ',
  ),
);
/** They end like a participle and are nouns. */
const NOUNS = new Set(
  'Encoding Finding Reasoning Recording Sampling Setting Spelling Steering Wiring'.split(' '),
);

const participlesAmong = (sources: readonly SourceFile[]): readonly string[] =>
  sources.flatMap(({ file, text }) =>
    [...text.matchAll(/^(?:export )?interface (\w+)/gm)]
      .map(([, name = '']) => name)
      .filter((name) => (/^[A-Z][a-z]+(?:ed|ing)$/.test(name) || IRREGULAR.has(name)) && !NOUNS.has(name))
      .map((name) => `${name}: ${file}`),
  );

const picksAmong = (sources: readonly SourceFile[]): readonly string[] =>
  sources.flatMap(({ file, text }) => {
    const { length } = [...text.matchAll(/\b(?:Pick|Omit)</g)];
    return Array.from({ length }, () => file);
  });

/** Generated files and tests are not counted, except for the length of tests and scripts. */
const filesIn = (root: string, pattern: string): readonly string[] =>
  globSync(pattern, { cwd: root, exclude: ['**/node_modules/**'] })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => !file.includes('protocol/generated/'))
    .toSorted();

type SourceFigure = Exclude<FigureName, `walk${string}`>;

/** The figures of the sources. Takes half a second. */
export const measureStructure = (root: string = ROOT): Readonly<Record<SourceFigure, Measurement>> => {
  const sources = filesIn(root, 'src/**/*.ts')
    .filter((file) => !file.endsWith('.test.ts'))
    .map((file) => readSource(root, file));
  const lines = sources.reduce((sum, one) => sum + one.lines, 0);
  const [longest = { file: '', lines: 0 }] = filesIn(
    root,
    '{src,test,bench,scripts,console/src}/**/*.{ts,tsx,css}',
  )
    .map((file) => ({ file, lines: readFileSync(path.join(root, file), 'utf8').split('\n').length - 1 }))
    .toSorted((one, other) => other.lines - one.lines);
  const app = sources.find(({ file }) => file === 'src/compose/app.ts');
  const counted = (places: readonly string[]): Measurement => ({ value: places.length, places });
  return {
    filesPer10k: {
      value: Math.round((sources.length / lines) * 100_000) / 10,
      places: [`${sources.length} files, ${lines} lines`],
    },
    lonely: counted(lonelyAmong(sources)),
    longest: { value: longest.lines, places: [longest.file] },
    featureImports: counted(featureImportsAmong(sources)),
    clashes: counted(clashesAmong(sources)),
    participles: counted(participlesAmong(sources)),
    picks: counted(picksAmong(sources)),
    composeFiles: counted(sources.map(({ file }) => file).filter((file) => file.startsWith('src/compose/'))),
    appImports: counted(app?.imports ?? []),
  };
};

type WalkFigure = Extract<FigureName, `walk${string}`>;

/** The figures of a running request, counted in a process of its own. Takes about five seconds of CPU time. */
export const measureWalk = async (
  root: string = ROOT,
): Promise<Readonly<Record<WalkFigure, Measurement>>> => {
  const calls = path.join(root, 'bench/calls.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [calls, '--walk', '--json'], { cwd: root });
  const { walk } = JSON.parse(stdout) as {
    readonly walk: { readonly files: number; readonly calls: number; readonly callsPerDelta: number };
  };
  return {
    walkFiles: { value: walk.files, places: [] },
    walkCalls: { value: walk.calls, places: [] },
    walkCallsPerDelta: { value: walk.callsPerDelta, places: [] },
  };
};

/** One sentence per exceeded limit: the rule, the value and the remedy. */
export const structureProblems = (figures: Readonly<Record<string, Measurement>>): readonly string[] =>
  (Object.entries(figures) as [FigureName, Measurement][]).flatMap(([name, { value }]) => {
    const { title, limit, remedy } = FIGURES[name];
    return value > limit
      ? [
          `${title}: ${value}, and ${limit} are allowed. ${remedy} \`npm run structure -- --list ${name}\` lists them.`,
        ]
      : [];
  });

if (import.meta.main) {
  const { values: flags } = parseArgs({
    options: {
      walk: { type: 'boolean', default: false },
      list: { type: 'string' },
      root: { type: 'string', default: ROOT },
    },
  });
  const figures: Readonly<Record<string, Measurement>> = {
    ...measureStructure(flags.root),
    ...(flags.walk ? await measureWalk(flags.root) : {}),
  };
  if (flags.list === undefined) {
    console.log('| name | figure | today | limit | target |\n|---|---|---|---|---|');
    for (const [name, { value }] of Object.entries(figures)) {
      const { title, limit, target } = FIGURES[name as FigureName];
      console.log(`| ${name} | ${title} | ${value} | ${limit} | ${target} |`);
    }
  } else for (const place of figures[flags.list]?.places ?? []) console.log(place);
  const problems = structureProblems(figures);
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
