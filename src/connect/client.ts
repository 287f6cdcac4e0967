import { isJsonObject, type Json, type JsonObject } from '../kit/json/json.ts';
import { withValueAt, type KeyPath } from './formats/format.ts';

/** A key of the server. */
export interface ServerKey {
  readonly key: string;
  /** The file with the key, for clients that can read it from there; null if the key is a setting. */
  readonly keyFile: string | null;
}

/** The server as a client sees it. */
export interface ServerFacts extends ServerKey {
  /** Without a path: `http://127.0.0.1:11435`. */
  readonly url: string;
  readonly model: ModelFacts;
}

export interface ModelFacts {
  readonly id: string;
  /** Asked for by name, with `--model`. */
  readonly isChosen: boolean;
  readonly title: string;
  /** In tokens. */
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
}

export type Variables = Readonly<Record<string, string>>;

export interface ClientFile {
  readonly format: 'json' | 'toml' | 'yaml';
  readonly place: FilePlace;
  readonly settings: readonly ClientSetting[];
}

/** Where a client looks for a settings file. */
export interface FilePlace {
  /** A variable with the path of the file itself. It takes precedence. */
  readonly fileVariable?: string;
  /** Variables that move the folder, each with the folder below it. The first one that is set counts. */
  readonly variables?: readonly (readonly [name: string, folder: string])[];
  /** The folder below the user's home. */
  readonly folder: string;
  readonly name: string;
  /** Another name for the same file, used if there is such a file. */
  readonly otherName?: string;
}

/** How to start a client with this server for one run, without any file. */
interface ClientRun {
  /** Null: the first argument names it. */
  readonly program: string | null;
  /** In front of the arguments of the user. Never contain the key: other users see command lines. */
  readonly words: readonly string[];
  readonly variables: Variables;
}

/** A program that can use this server. */
export interface ConnectClient {
  readonly title: string;
  /** The page in `docs/clients`; null for programs in general. */
  readonly page: string | null;
  /** Empty: the client takes variables only. */
  files(server: ServerFacts): readonly ClientFile[];
  /** Null: the client needs its file. */
  run(server: ServerFacts): ClientRun | null;
  /** A command line to try it with. */
  readonly tryIt: string;
  /** How it gets the tools of this server over MCP; absent: it is not set up for them here. */
  readonly mcp?: ConnectMcp;
}

/** How a client uses this server as an MCP server: its models stay those that it has. */
interface ConnectMcp {
  file(server: ServerFacts): ClientFile;
  /** A command line that shows whether it is connected. */
  readonly tryIt: string;
}

/** The name of this server in the files of clients. */
export const PROVIDER = 'proxy';
export const TITLE = 'codex-app-server-proxy';

/** What clients that speak MCP over HTTP send. */
export const mcpHeaders = ({ key }: { readonly key: string }) => ({ Authorization: `Bearer ${key}` });
export const mcpUrl = ({ url }: ServerFacts): string => `${url}/mcp`;

/** codex works as long as it needs: a client must not give up after its usual minute. */
export const TOOL_CALL_SECONDS = 3_600;

/** The base URL of OpenAI's APIs. */
export const openAiUrl = ({ url }: ServerFacts): string => `${url}/v1`;

/** For a model that the server does not describe, or while it does not run: what the models of codex have today. */
export const USUAL_WINDOW = 272_000;
export const USUAL_OUTPUT = 128_000;

/** One thing that a client needs in a settings file. */
export type ClientSetting =
  | {
      readonly kind: 'value';
      readonly path: KeyPath;
      readonly value: Json;
      /**
       * The keys below the value that make it ours, for a value that the client itself rewrites: it is still ours if
       * these are the same. Without: the whole value.
       */
      readonly identity?: KeyPath;
    }
  /** Set only in a file that has no settings yet. */
  | { readonly kind: 'first'; readonly path: KeyPath; readonly value: Json }
  /** An item of a list that may have others. */
  | { readonly kind: 'item'; readonly path: KeyPath; readonly item: Json };

/** A setting for each value of an object, so that other keys in the same objects are left alone. */
export const settingsOf = (object: JsonObject, path: KeyPath = []): readonly ClientSetting[] =>
  Object.entries(object).flatMap(([key, value]): readonly ClientSetting[] => {
    const inner = [...path, key];
    if (value === undefined) return [];
    return isJsonObject(value) ? settingsOf(value, inner) : [{ kind: 'value', path: inner, value }];
  });

/** The settings of a new file. */
export const wholeOf = (settings: readonly ClientSetting[]): JsonObject =>
  settings.reduce<JsonObject>((object, setting) => {
    if (setting.kind !== 'item') return withValueAt(object, setting.path, setting.value);
    const items = settings.flatMap((one) =>
      one.kind === 'item' && one.path.join('.') === setting.path.join('.') ? [one.item] : [],
    );
    return withValueAt(object, setting.path, items);
  }, {});

/** How each shell sets a variable. The values are quoted, so that none is expanded. */
const LINES = {
  posix: (name: string, value: string) => `export ${name}='${value.replaceAll("'", String.raw`'\''`)}'`,
  fish: (name: string, value: string) =>
    `set -gx ${name} '${value.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`,
  powershell: (name: string, value: string) => `$env:${name} = '${value.replaceAll("'", "''")}'`,
} as const;

type Shell = keyof typeof LINES;

export const SHELLS = Object.keys(LINES) as readonly Shell[];

export const isShell = (name: string): name is Shell => Object.hasOwn(LINES, name);

/** The shell that most likely reads the lines. */
export const usualShell = (
  environment: Readonly<Record<string, string | undefined>>,
  platform: string,
): Shell => {
  if (/\bfish$/.test(environment['SHELL'] ?? '')) return 'fish';
  return platform === 'win32' ? 'powershell' : 'posix';
};

export const shellLines = (variables: Variables, shell: Shell): string =>
  Object.entries(variables)
    .map(([name, value]) => `${LINES[shell](name, value)}\n`)
    .join('');
