import { lstatSync, closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { z } from 'zod';

import type { ModelPrices } from '../canonical/models/prices.ts';
import { isJsonObject, type JsonObject, type Json } from '../kit/json/json.ts';
import { AGENT_LIMITS, readAgentLimits, type AgentLimits } from './agent-limits.ts';
import { fileKeyOf, type SettingTable } from './setting-row.ts';
import { jsonErrorPlace, type JsonPlace, repeatedKeyPlace } from '../kit/json/json-place.ts';

const AMOUNT = z.number().min(0).max(1_000_000);

/** A price in the config file. Its JSON schema has the same fields. */
export const PRICE_FIELDS = z.strictObject({
  input: AMOUNT,
  /** Absent: as other input. */
  cached_input: AMOUNT.optional(),
  output: AMOUNT,
});

const MAX_PRICES = 1_000;

interface ReadPrices {
  readonly prices: ModelPrices;
  readonly problems: readonly string[];
}

/** The value of `prices` in the config file. */
const readPrices = (value: Json | undefined): ReadPrices => {
  if (value === undefined) return { prices: {}, problems: [] };
  if (!isJsonObject(value)) {
    return { prices: {}, problems: ['prices: must be an object, as in docs/keys.md.'] };
  }
  const entries = Object.entries(value);
  const problems = entries.length > MAX_PRICES ? [`prices: has more than ${MAX_PRICES} models.`] : [];
  const prices = entries.slice(0, MAX_PRICES).flatMap(([model, entry]) => {
    const parsed = PRICE_FIELDS.safeParse(entry);
    if (parsed.success) {
      const { input, output, cached_input: cachedInput = input } = parsed.data;
      return [[model, { input, cachedInput, output }] as const];
    }
    problems.push(
      `prices: ${JSON.stringify(model.slice(0, 100))} must be an object with input, output and optionally cached_input: what a million tokens cost, from 0 to 1000000.`,
    );
    return [];
  });
  return { prices: Object.fromEntries(prices), problems };
};

const MAX_FILE_BYTES = 1024 * 1024;

/** `problem` completes a sentence that begins with the path. It never quotes the content, which may be a secret. */
type JsonFile = { readonly value: unknown } | { readonly problem: string };

export const readJsonFile = (file: string): JsonFile => {
  const read = readText(file);
  if (typeof read !== 'string') return read;
  // Some editors begin a file with a byte order mark.
  const text = read.replace(/^\uFEFF/, '');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: `is not valid JSON: see ${placeText(jsonErrorPlace(text))}.` };
  }
  const repeated = repeatedKeyPlace(text);
  return repeated === null ? { value } : { problem: `has a key twice: see ${placeText(repeated)}.` };
};

const placeText = ({ line, column }: JsonPlace): string => `line ${line}, column ${column}`;

const readText = (file: string): string | { readonly problem: string } => {
  let opened: number | null = null;
  try {
    // A named pipe would block until another process writes to it. Windows has no such flag.
    opened = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const found = fstatSync(opened);
    if (found.isDirectory()) return { problem: 'is a folder, not a file.' };
    if (!found.isFile()) return { problem: 'is not a regular file.' };
    if (found.size > MAX_FILE_BYTES) return { problem: 'is larger than 1 MB.' };
    return readFileSync(opened, 'utf8');
  } catch (error) {
    return { problem: `cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}.` };
  } finally {
    if (opened !== null) closeSync(opened);
  }
};

/** The settings of a config file, not yet checked. */
export interface ConfigFile {
  readonly path: string;
  /** By the name of the setting. */
  readonly values: ReadonlyMap<string, unknown>;
  /** As in the file of `PROXY_MCP_CONFIG`; null: it has none. */
  readonly mcpServers: JsonObject | null;
  readonly prices: ModelPrices;
  readonly agentLimits: AgentLimits;
  readonly problems: readonly string[];
}

/** A problem of the file, or of one of its keys. */
export const fileProblem = (file: string, text: string): string => `Config file ${file}: ${text}`;

/** `isNamed`: `PROXY_CONFIG` names it. Otherwise it is the `config.json` of the state directory. */
export const readConfigFile = (file: string, isNamed: boolean, table: SettingTable): ConfigFile | null => {
  if (!isNamed && !exists(file)) return null;
  const read = readJsonFile(file);
  const nothing = {
    path: file,
    values: new Map(),
    mcpServers: null,
    prices: {},
    agentLimits: AGENT_LIMITS,
  };
  if ('problem' in read) return { ...nothing, problems: [`Config file ${file} ${read.problem}`] };
  if (!isJsonObject(read.value)) {
    return { ...nothing, problems: [fileProblem(file, 'must contain a JSON object.')] };
  }
  return sortKeys(file, isNamed, read.value, table);
};

/** True for a link without a target, and for a file in a folder that may not be read: both are mistakes to report. */
const exists = (file: string): boolean => {
  try {
    return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOTDIR';
  }
};

const sortKeys = (file: string, isNamed: boolean, object: JsonObject, table: SettingTable): ConfigFile => {
  const names = new Map(Object.keys(table).map((name) => [fileKeyOf(name), name]));
  const { $schema: _, mcpServers, prices: given, agent, ...settings } = object;
  const values = new Map<string, unknown>();
  const problems: string[] = [];
  for (const [key, value] of Object.entries(settings)) {
    const name = names.get(key);
    const problem = name === undefined ? unknownKey(key, table) : misplacedKey(key, name, isNamed, table);
    if (name !== undefined && problem === null) values.set(name, value);
    else problems.push(fileProblem(file, problem ?? ''));
  }
  if (mcpServers !== undefined && !isJsonObject(mcpServers)) {
    problems.push(fileProblem(file, 'mcpServers: must be an object, as in docs/mcp.md.'));
  }
  if (mcpServers !== undefined && values.has('PROXY_MCP_CONFIG')) {
    problems.push(fileProblem(file, 'mcpConfig and mcpServers: use only one of them.'));
  }
  const { prices, problems: wrong } = readPrices(given);
  const { limits: agentLimits, problems: wrongLimits } = readAgentLimits(agent);
  problems.push(...[...wrong, ...wrongLimits].map((problem) => fileProblem(file, problem)));
  return {
    path: file,
    values,
    mcpServers: isJsonObject(mcpServers) ? mcpServers : null,
    prices,
    agentLimits,
    problems,
  };
};

const unknownKey = (key: string, table: SettingTable): string => {
  const shown = JSON.stringify(key.slice(0, 100));
  return Object.hasOwn(table, key)
    ? `unknown key ${shown}: here it is called "${fileKeyOf(key)}".`
    : `unknown key ${shown}: docs/configuration.md lists the keys.`;
};

const misplacedKey = (key: string, name: string, isNamed: boolean, table: SettingTable): string | null => {
  const { environmentOnly } = table[name] ?? {};
  if (environmentOnly === true) return `${key}: can only be set in the environment, as ${name}.`;
  return name === 'PROXY_STATE_DIR' && !isNamed
    ? `${key}: this file is in the state directory itself. Set PROXY_STATE_DIR, or name a config file with PROXY_CONFIG.`
    : null;
};

/** The default place. */
export const configFileIn = (stateDir: string): string => path.join(stateDir, 'config.json');
