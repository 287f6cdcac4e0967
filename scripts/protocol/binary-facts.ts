import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { isJsonObject, textIn, type Json, type JsonObject } from '../../src/kit/json/json.ts';

/** What a codex binary says about itself: each fact by its name, in sections. */
export type BinaryFacts = Readonly<Record<Section, ReadonlyMap<string, string>>>;

/** In the order in which changes are reported. */
export const SECTIONS = [
  'methods',
  'notifications',
  'requests of the server',
  'error names',
  'features',
  'bundled models',
  'fields',
] as const;
type Section = (typeof SECTIONS)[number];

const RUN_MS = 60_000;
const MAX_OUTPUT = 64 * 1024 * 1024;

/** Runs commands of a codex binary with an empty home, which is removed afterwards. */
export const withCodex = async <T>(
  binary: string,
  use: (run: (...args: readonly string[]) => Promise<string>, scratch: string) => Promise<T>,
): Promise<T> => {
  const scratch = await mkdtemp(path.join(os.tmpdir(), 'codex-facts-'));
  try {
    const home = path.join(scratch, 'home');
    await mkdir(home);
    const run = async (...args: readonly string[]): Promise<string> => {
      const { stdout } = await promisify(execFile)(binary, args, {
        env: { ...process.env, CODEX_HOME: home },
        timeout: RUN_MS,
        maxBuffer: MAX_OUTPUT,
      });
      return stdout;
    };
    return await use(run, scratch);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
};

/** The feature switches of a binary with their stage and default, one in each line. */
export const featuresText = (listed: string): string => {
  const rows = listed.split('\n').flatMap((line) => {
    const [, name, stage, value] = /^(\S+) {2,}(\S.*?) {2,}(true|false)\s*$/.exec(line) ?? [];
    return name === undefined ? [] : [`${name}: ${stage}, ${value}`];
  });
  if (rows.length === 0) throw new Error('`codex features list` names no features: its form has changed');
  return `${rows.toSorted().join('\n')}\n`;
};

export const readBinaryFacts = (binary: string): Promise<BinaryFacts> =>
  withCodex(binary, async (run, scratch) => {
    const out = path.join(scratch, 'schema');
    await run('app-server', 'generate-json-schema', '--experimental', '--out', out);
    const file = path.join(out, 'codex_app_server_protocol.schemas.json');
    return factsOf({
      schema: JSON.parse(await readFile(file, 'utf8')) as JsonObject,
      features: await run('features', 'list'),
      models: JSON.parse(await run('debug', 'models', '--bundled')) as JsonObject,
    });
  });

/** Their names have sections of their own. */
const UNIONS: ReadonlySet<string> = new Set([
  'ClientRequest',
  'ServerNotification',
  'ServerRequest',
  'CodexErrorInfo',
]);

export interface BinaryOutput {
  readonly schema: JsonObject;
  readonly features: string;
  readonly models: JsonObject;
}

export const factsOf = ({ schema, features, models }: BinaryOutput): BinaryFacts => {
  const types = typesIn(schema);
  const fields = new Map<string, string>();
  for (const [name, type] of types) if (!UNIONS.has(name)) addFields(fields, name, type);
  const names = (type: string): ReadonlyMap<string, string> => namesIn(types.get(type), type);
  return {
    methods: names('ClientRequest'),
    notifications: names('ServerNotification'),
    'requests of the server': names('ServerRequest'),
    'error names': names('CodexErrorInfo'),
    features: new Map(
      featuresText(features)
        .trim()
        .split('\n')
        .map((line) => splitAt(line, ': ')),
    ),
    'bundled models': modelFacts(models),
    fields,
  };
};

/** All types of the protocol by name; those of version 2 are one level deeper. */
const typesIn = ({ definitions }: JsonObject): ReadonlyMap<string, JsonObject> => {
  const all = isJsonObject(definitions) ? definitions : {};
  const { v2, ...first } = all;
  return new Map(
    [...Object.entries(first), ...Object.entries(isJsonObject(v2) ? v2 : {})].filter(
      (entry): entry is [string, JsonObject] => isJsonObject(entry[1]),
    ),
  );
};

const objectsIn = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : [];

const variantsOf = (type: JsonObject): readonly JsonObject[] => [
  ...objectsIn(type['oneOf']),
  ...objectsIn(type['anyOf']),
];

const constantsOf = (schema: Json | undefined): readonly string[] =>
  isJsonObject(schema) && Array.isArray(schema['enum']) ? schema['enum'].map(String) : [];

const propertiesOf = (type: JsonObject): JsonObject =>
  isJsonObject(type['properties']) ? type['properties'] : {};

/** The names of a union: methods, plain constants, or the only property of a variant. */
const namesIn = (type: JsonObject | undefined, called: string): ReadonlyMap<string, string> => {
  const found = (type === undefined ? [] : [type, ...variantsOf(type)]).flatMap((variant) => {
    const properties = propertiesOf(variant);
    if (properties['method'] !== undefined) return constantsOf(properties['method']);
    return [...constantsOf(variant), ...Object.keys(properties)];
  });
  if (found.length === 0) throw new Error(`${called} has no names: the form of the schema has changed`);
  return new Map(found.map((name) => [name, '']));
};

/** `Type.field`, or `Type[tag].field` for a variant of a union. */
const addFields = (fields: Map<string, string>, name: string, type: JsonObject): void => {
  for (const constant of constantsOf(type)) fields.set(`${name} "${constant}"`, '');
  const required = new Set(Array.isArray(type['required']) ? type['required'] : []);
  for (const [field, schema] of Object.entries(propertiesOf(type))) {
    fields.set(`${name}.${field}${required.has(field) ? '' : '?'}`, typeText(schema));
  }
  for (const variant of variantsOf(type)) {
    const properties = propertiesOf(variant);
    const tags = [...constantsOf(properties['method']), ...constantsOf(properties['type'])];
    addFields(fields, tags.length === 0 ? name : `${name}[${tags.join('|')}]`, variant);
  }
};

/** A schema without what only people read. */
const typeText = (schema: Json | undefined): string =>
  JSON.stringify(schema ?? null, (key, value: unknown) =>
    key === 'description' || key === 'title' || key === '$schema' ? undefined : value,
  ).replaceAll(/"#\/definitions\/(?:v2\/)?(\w+)"/g, '"$1"');

/** Texts above this, such as prompts, are shown as their length and a hash. */
const MAX_TEXT = 200;

const modelFacts = ({ models }: JsonObject): ReadonlyMap<string, string> => {
  const facts = new Map<string, string>();
  for (const model of objectsIn(models)) {
    const slug = textIn(model, 'slug');
    facts.set(slug, '');
    for (const [name, value] of Object.entries(model)) {
      if (name !== 'slug') facts.set(`${slug}.${name}`, shortText(value));
    }
  }
  if (facts.size === 0) throw new Error('`codex debug models` lists no models: its form has changed');
  return facts;
};

const shortText = (value: Json | undefined): string => {
  const text = JSON.stringify(value ?? null);
  if (text.length <= MAX_TEXT) return text;
  return `${text.length} characters, ${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
};

const splitAt = (line: string, separator: string): readonly [string, string] => {
  const at = line.indexOf(separator);
  return [line.slice(0, at), line.slice(at + separator.length)];
};

/** One change of a fact: `+` new, `-` gone, `~` other than before. */
export interface FactChange {
  readonly section: Section;
  readonly sign: '+' | '-' | '~';
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

export const changedFacts = (before: BinaryFacts, after: BinaryFacts): readonly FactChange[] =>
  SECTIONS.flatMap((section) => {
    const [old, now] = [before[section], after[section]];
    return [...new Set([...old.keys(), ...now.keys()])].toSorted().flatMap((name): FactChange[] => {
      const [was, is] = [old.get(name), now.get(name)];
      if (was === is) return [];
      const sign = was === undefined ? '+' : is === undefined ? '-' : '~';
      return [{ section, sign, name, before: was ?? '', after: is ?? '' }];
    });
  });
