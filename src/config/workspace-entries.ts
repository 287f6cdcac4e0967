import { realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';

import { z } from 'zod';

import type { Workspace } from '../canonical/mcp/workspace.ts';
import type { JsonObject } from '../kit/json/json.ts';
import type { EntryReader } from './entry-reader.ts';
import { absolutePath } from './paths.ts';

/** A folder that a workspace must neither contain nor lie in. */
export interface ProtectedFolder {
  /** As messages name it. */
  readonly name: string;
  readonly path: string;
  /** Further folders of a workspace may be in the same one: commands do not see what is secret in it. */
  readonly isShared?: true;
}

export const folderOfConfiguration = (file: string): ProtectedFolder => ({
  name: 'the folder of the configuration',
  path: path.dirname(file),
  isShared: true,
});

const MAX_ENTRIES = 100;
const MAX_RUNS = 64;
const MAX_RUN_SECONDS = 86_400;
const MAX_MODEL_REQUESTS = 10_000;

const HOST =
  /^(?:\*{1,2}\.)?[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*$/;
const FOLDERS = z
  .array(z.string().refine((text) => path.isAbsolute(text) && !text.includes('\0')))
  .max(MAX_ENTRIES);

const isInside = (text: string): boolean => {
  const plain = path.normalize(text);
  return !path.isAbsolute(plain) && !/^(?:\.?\/?|\.\.(?:\/.*)?)$/.test(plain) && !plain.includes('\0');
};

/** The run sets them: a process that it left behind is found by them. */
const OWN_VARIABLES: ReadonlySet<string> = new Set(['HOME', 'TMPDIR']);

/** The fields of a workspace. The JSON schema of the config file has them too. */
export const WORKSPACE_FIELDS = {
  workspace: z.string().min(1),
  access: z.enum(['write', 'read']),
  network: z.union([
    z.literal(false),
    z.literal('all'),
    z.array(z.string().max(253).regex(HOST)).max(MAX_ENTRIES),
  ]),
  read: FOLDERS,
  write: FOLDERS,
  hide: z.array(z.string().refine(isInside)).max(MAX_ENTRIES),
  git: z.boolean(),
  env: z.record(z.string(), z.string()),
  runs: z.int().min(1).max(MAX_RUNS),
  max_seconds: z.int().min(1).max(MAX_RUN_SECONDS),
  max_model_requests: z.int().min(1).max(MAX_MODEL_REQUESTS),
} as const;

const ABSOLUTE_FOLDERS = `an array of at most ${MAX_ENTRIES} absolute paths`;

/** What the fields must be, for messages. */
const ALLOWED: Readonly<Record<keyof typeof WORKSPACE_FIELDS, string>> = {
  workspace: 'the path of a folder',
  access: '`write` or `read`',
  network: 'false, `all`, or an array of host names such as "packages.example.com" or "*.example.com"',
  read: ABSOLUTE_FOLDERS,
  write: ABSOLUTE_FOLDERS,
  hide: 'an array of paths in the workspace, relative to it',
  git: 'true or false',
  env: 'an object of strings',
  runs: `a whole number from 1 to ${MAX_RUNS}`,
  max_seconds: `a whole number from 1 to ${MAX_RUN_SECONDS}`,
  max_model_requests: `a whole number from 1 to ${MAX_MODEL_REQUESTS}`,
};

const DEFAULT_CALL_SECONDS = 600;

/** The fields that other MCP servers have too. */
export interface CommonFields {
  readonly callSeconds: number | undefined;
  readonly requireApproval: Workspace['requireApproval'];
}

/** Reads an entry of `mcpServers` with `workspace`. Null: its folder cannot be used. */
export const readWorkspace = (
  entry: JsonObject,
  reader: EntryReader,
  { callSeconds = DEFAULT_CALL_SECONDS, requireApproval }: CommonFields,
): Workspace | null => {
  const given = <Name extends keyof typeof WORKSPACE_FIELDS>(name: Name) =>
    reader.given<z.output<(typeof WORKSPACE_FIELDS)[Name]>>(
      entry,
      name,
      WORKSPACE_FIELDS[name] as unknown as z.ZodType<z.output<(typeof WORKSPACE_FIELDS)[Name]>>,
      ALLOWED[name],
    );
  const network = given('network') ?? false;
  if (network === 'all')
    reader.warning('network', 'is `all`: commands reach every address, also this machine');
  const folder = folderOf(reader, given('workspace'));
  const rest = {
    label: reader.label,
    access: given('access') ?? 'write',
    network: hostsOf(network),
    read: furtherFolders(reader, 'read', given('read')),
    write: furtherFolders(reader, 'write', given('write')),
    hide: (given('hide') ?? []).map((text) => path.normalize(text).replace(/\/+$/, '')),
    git: given('git') ?? false,
    env: variablesOf(reader, given('env') ?? {}),
    requireApproval,
    runs: given('runs') ?? 1,
    maxSeconds: given('max_seconds') ?? 1_800,
    maxModelRequests: given('max_model_requests') ?? 200,
    callSeconds,
  } satisfies Partial<Workspace>;
  return folder === null ? null : { ...rest, ...folder };
};

const hostsOf = (network: false | 'all' | readonly string[]): Workspace['network'] => {
  if (network === 'all') return network;
  return network === false || network.length === 0 ? 'none' : network.map((host) => host.toLowerCase());
};

const variablesOf = (
  reader: EntryReader,
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> => {
  const env = reader.expandAll('env', given);
  for (const [name, value] of Object.entries(env)) {
    if (!/^[A-Za-z_]\w*$/.test(name)) reader.problem(`env.${name}`, 'is not the name of a variable');
    else if (OWN_VARIABLES.has(name)) reader.problem(`env.${name}`, 'cannot be set: each run has its own');
    else if (value.includes('\0')) reader.problem(`env.${name}`, 'has a value that no variable can have');
  }
  return env;
};

const folderOf = (
  reader: EntryReader,
  text: string | undefined,
): Pick<Workspace, 'path' | 'configuredPath'> | null => {
  if (text === undefined) return null;
  const expanded = reader.expand('workspace', text);
  const configuredPath = absolutePath(expanded, path.dirname(reader.from.file));
  const problem = expanded === '' ? 'is empty' : folderProblem(configuredPath);
  if (problem === null) return { path: realpathSync(configuredPath), configuredPath };
  reader.problem('workspace', problem);
  return null;
};

const furtherFolders = (
  reader: EntryReader,
  field: 'read' | 'write',
  given: readonly string[] = [],
): readonly string[] => {
  const folders = given.map((text) => path.resolve(text));
  folders.forEach((folder, index) => {
    const problem = folderProblem(folder);
    if (problem !== null) reader.problem(`${field}[${index}]`, problem);
  });
  return folders;
};

/** Null: it is a folder. */
const folderProblem = (folder: string): string | null => {
  try {
    return statSync(folder).isDirectory() ? null : `is not a folder: ${folder}`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT'
      ? `names a folder that does not exist: ${folder}`
      : `names a folder that cannot be used: ${folder} (${code ?? String(error)})`;
  }
};

/** Reports workspaces, and further folders of them, that contain or lie in what must stay hidden, and those that overlap. */
export const checkPlaces = (
  workspaces: readonly Workspace[],
  hidden: readonly ProtectedFolder[],
  reader: EntryReader,
): void => {
  const found = hidden.map((one) => ({ ...one, path: realOf(one.path) }));
  const earlier: Workspace[] = [];
  for (const one of workspaces) {
    reader.label = one.label;
    const problem = placeProblem(one.path, found) ?? overlap(one, earlier);
    if (problem !== null) reader.problem('workspace', problem);
    for (const field of ['read', 'write'] as const) {
      one[field].forEach((folder, index) => {
        const isFound = ({ isShared, path: place }: ProtectedFolder): boolean =>
          isShared !== true || isShown(place, folder, field);
        const wrong =
          placeProblem(realOf(folder), found.filter(isFound)) ?? linkProblem(one, folder, workspaces);
        const inner = field === 'write' ? replaceable(one, index, workspaces) : null;
        if (wrong !== null || inner !== null) reader.problem(`${field}[${index}]`, wrong ?? inner ?? '');
      });
    }
    earlier.push(one);
  }
};

/**
 * Whether commands could read a folder in which further folders may lie. It is hidden by its real path: not if they are given
 * that folder itself, or a link to one around it, or can move what lies around it.
 */
const isShown = (place: string, folder: string, field: 'read' | 'write'): boolean => {
  const real = realOf(folder);
  return real === place || ((field === 'write' || real !== folder) && contains(real, place));
};

/** Null: the path has no links, or leads to a folder without other workspaces, which are hidden by their real paths. */
const linkProblem = (
  { path: root }: Workspace,
  folder: string,
  workspaces: readonly Workspace[],
): string | null => {
  const real = realOf(folder);
  const inner = workspaces.find(
    ({ path: other }) => other !== root && other !== real && contains(real, other),
  );
  return real === folder || inner === undefined
    ? null
    : `is a link to ${real}, which contains the workspace \`${inner.label}\` (${inner.path})`;
};

/**
 * Null: commands can replace neither this folder with a link, which the sandbox would open, nor move what has to be hidden in
 * it. They can move all that lies below a folder that they may change.
 */
const replaceable = (
  { path: root, access, write }: Workspace,
  index: number,
  workspaces: readonly Workspace[],
): string | null => {
  const folders = write.map(realOf);
  const folder = folders[index] ?? '';
  const outer = [...(access === 'write' ? [root] : []), ...folders.toSpliced(index, 1)].find((other) =>
    contains(other, folder),
  );
  if (outer !== undefined) return `lies in a folder that commands may change anyway (${outer})`;
  const inner = workspaces.find(({ path: other }) => other !== root && contains(folder, other));
  return inner === undefined ? null : `contains the workspace \`${inner.label}\` (${inner.path})`;
};

const placeProblem = (folder: string, hidden: readonly ProtectedFolder[]): string | null => {
  if (PARENTS_OF_HOMES.has(folder)) return `is ${folder}, which contains home directories`;
  const other = hidden.find(({ path: place }) => contains(folder, place) || contains(place, folder));
  if (other === undefined) return null;
  return contains(folder, other.path)
    ? `contains ${other.name} (${other.path})`
    : `lies in ${other.name} (${other.path})`;
};

const overlap = ({ path: folder }: Workspace, others: readonly Workspace[]): string | null => {
  const other = others.find((one) => contains(folder, one.path) || contains(one.path, folder));
  return other === undefined ? null : `overlaps the workspace \`${other.label}\``;
};

/** Whether the inner path is the folder, or lies in it. */
const contains = (folder: string, inner: string): boolean =>
  inner === folder || inner.startsWith(folder.endsWith(path.sep) ? folder : `${folder}${path.sep}`);

/** Without links, as far as it exists. */
const realOf = (place: string): string => {
  try {
    return realpathSync(place);
  } catch {
    const parent = path.dirname(place);
    return parent === place ? place : path.join(realOf(parent), path.basename(place));
  }
};

const parentsOf = (place: string): readonly string[] => {
  const parent = path.dirname(place);
  return parent === place ? [place] : [parent, ...parentsOf(parent)];
};

const PARENTS_OF_HOMES: ReadonlySet<string> = new Set([
  '/',
  '/home',
  '/Users',
  ...parentsOf(homedir()),
  ...parentsOf(realOf(homedir())),
]);
