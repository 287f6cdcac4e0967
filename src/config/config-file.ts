import { lstatSync } from 'node:fs';
import path from 'node:path';

import type { ModelPrices } from '../canonical/models/prices.ts';
import { isJsonObject, type JsonObject } from '../kit/json/json.ts';
import { readJsonFile } from './json-file.ts';
import { readPrices } from './prices.ts';
import { fileKeyOf, type SettingTable } from './setting-row.ts';

/** The settings of a config file, not yet checked. */
export interface ConfigFile {
  readonly path: string;
  /** By the name of the setting. */
  readonly values: ReadonlyMap<string, unknown>;
  /** As in the file of `PROXY_MCP_CONFIG`; null: it has none. */
  readonly mcpServers: JsonObject | null;
  readonly prices: ModelPrices;
  readonly problems: readonly string[];
}

/** A problem of the file, or of one of its keys. */
export const fileProblem = (file: string, text: string): string => `Config file ${file}: ${text}`;

/** `isNamed`: `PROXY_CONFIG` names it. Otherwise it is the `config.json` of the state directory. */
export const readConfigFile = (file: string, isNamed: boolean, table: SettingTable): ConfigFile | null => {
  if (!isNamed && !exists(file)) return null;
  const read = readJsonFile(file);
  const nothing = { path: file, values: new Map(), mcpServers: null, prices: {} };
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
  const { $schema: _, mcpServers, prices: given, ...settings } = object;
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
  problems.push(...wrong.map((problem) => fileProblem(file, problem)));
  return { path: file, values, mcpServers: isJsonObject(mcpServers) ? mcpServers : null, prices, problems };
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
