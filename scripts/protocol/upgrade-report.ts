import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import { parse } from 'smol-toml';

import { directLogin } from '../../src/codex/home/backend.ts';
import { configToml } from '../../src/codex/home/config-toml.ts';
import { SECTIONS, type FactChange } from './binary-facts.ts';

export const PACKAGE = '@openai/codex';

export interface Versions {
  readonly from: string;
  readonly to: string;
}

export interface ReportOptions extends Versions {
  /** The folder of the project. */
  readonly root: string;
}

/** What the change of the binary means for this server, as text. */
export const reportOf = async (
  changes: readonly FactChange[],
  { root, ...versions }: ReportOptions,
): Promise<string> => {
  const read = await vendoredTypes(root);
  const ofOurs = changes.filter(({ section, name }) => section !== 'fields' || read.has(typeOfField(name)));
  const others = new Set(
    changes.filter((change) => !ofOurs.includes(change)).map(({ name }) => typeOfField(name)),
  );
  return [
    `# codex ${versions.from} → ${versions.to}`,
    ...SECTIONS.flatMap((section) => {
      const rows = ofOurs.filter((change) => change.section === section);
      const title = section === 'fields' ? 'fields of types that this server reads' : section;
      return ['', `## ${title}: ${rows.length === 0 ? 'no change' : rows.length}`, ...rows.map(rowOf)];
    }),
    ...(others.size === 0 ? [] : ['', `Other types: ${[...others].toSorted().join(', ')}`]),
    ...adviceOn(changes),
    ...(await mentionsOf(versions.from, root)),
    '',
  ].join('\n');
};

const rowOf = ({ sign, name, before, after }: FactChange): string => {
  const values = [before, after].filter((value) => value !== '').join(' → ');
  return values === '' ? `${sign} ${name}` : `${sign} ${name}: ${values}`;
};

/** The type that a field belongs to. */
const typeOfField = (name: string): string => /^\w+/.exec(name)?.[0] ?? '';

/** The types in `src/codex/protocol/generated`. */
const vendoredTypes = async (root: string): Promise<ReadonlySet<string>> => {
  const files = await readdir(path.join(root, 'src/codex/protocol/generated'), { recursive: true });
  return new Set(files.map((file) => path.basename(file, '.ts')));
};

/** What a person has to decide about features: codex says nothing about a switch that it no longer reads. */
const adviceOn = (changes: readonly FactChange[]): readonly string[] => {
  const ours = switchesWeSet();
  const features = changes.filter(({ section }) => section === 'features');
  const lost = features.filter(
    ({ name, sign, after }) => ours.has(name) && (sign === '-' || /^(?:removed|deprecated)/.test(after)),
  );
  const begun = features.filter(({ name, after, before }) => !ours.has(name) && isOn(after) && !isOn(before));
  return [
    ...listed('Switches that our config.toml sets and that this version does not keep', lost),
    ...listed('On by default now: does one of them add to a request, or change one?', begun),
  ];
};

const isOn = (value: string): boolean => value.endsWith(', true');

const listed = (title: string, changes: readonly FactChange[]): readonly string[] =>
  changes.length === 0 ? [] : ['', `## ${title}`, ...changes.map(rowOf)];

/** The features in the `config.toml` of every worker. */
export const switchesWeSet = (): ReadonlySet<string> => {
  const text = configToml({
    backend: directLogin('chatgpt'),
    catalogueFile: null,
    codexVersion: '0.0.0',
    allowsFeedback: false,
    untrusted: [],
  });
  return new Set(Object.keys(parse(text)['features'] ?? {}));
};

/** These name the version of their day. */
const MADE_BEFORE = ['docs/decisions', 'src/codex/protocol/generated', 'test/replay'] as const;

const mentionsOf = async (version: string, root: string): Promise<readonly string[]> => {
  const places = ['README.md', 'docs', 'src', 'test', ...MADE_BEFORE.map((folder) => `:!${folder}`)];
  const { stdout } = await promisify(execFile)('git', ['grep', '-lF', version, '--', ...places], {
    cwd: root,
  }).catch(() => ({ stdout: '' }));
  const files = stdout.split('\n').filter((file) => file !== '');
  return files.length === 0 ? [] : ['', `## Files that name ${version}`, ...files];
};

/**
 * The changelog with a line about this upgrade in its unreleased part. The line of an earlier one is replaced, and none is
 * written if the version is that of the last release again.
 */
export const withChangelogLine = (changelog: string, { from, to }: Versions): string => {
  const start = changelog.indexOf('## [Unreleased]');
  if (start === -1) throw new Error('CHANGELOG.md has no part [Unreleased].');
  const next = changelog.indexOf('\n## [', start + 1);
  const end = next === -1 ? changelog.length : next;
  const part = changelog.slice(start, end);
  const [, earlier = from] = /^- codex \S+ \(was (\S+)\).*\n/m.exec(part) ?? [];
  const rest = part.replace(/^- codex \S+ \(was \S+\).*\n/m, '');
  if (earlier === to) return changelog.slice(0, start) + rest + changelog.slice(end);
  const line = `- codex ${to} (was ${earlier}).\n`;
  const written = rest.includes('### Changed\n\n')
    ? rest.replace('### Changed\n\n', (title) => title + line)
    : `${rest.trimEnd()}\n\n### Changed\n\n${line}`;
  return changelog.slice(0, start) + written + changelog.slice(end);
};
