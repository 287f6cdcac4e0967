import type { Setting } from './setting.ts';

/** The server as a client sees it. */
export interface ServerFacts {
  /** Without a path: `http://127.0.0.1:11435`. */
  readonly url: string;
  readonly key: string;
  /** The file with the key, for clients that can read it from there; null if the key is a setting. */
  readonly keyFile: string | null;
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
  readonly place: Place;
  readonly settings: readonly Setting[];
}

/** Where a client looks for a settings file. */
export interface Place {
  /** Variables that move the folder, each with the folder below it. The first one that is set counts. */
  readonly variables?: readonly (readonly [name: string, folder: string])[];
  /** The folder below the user's home. */
  readonly folder: string;
  readonly name: string;
  /** Another name for the same file, used if there is such a file. */
  readonly otherName?: string;
}

/** How to start a client with this server for one run, without any file. */
export interface ClientRun {
  /** Null: the first argument names it. */
  readonly program: string | null;
  /** In front of the arguments of the user. Never contain the key: other users see command lines. */
  readonly words: readonly string[];
  readonly variables: Variables;
}

/** A program that can use this server. */
export interface Client {
  readonly title: string;
  /** The page in `docs/clients`; null for programs in general. */
  readonly page: string | null;
  /** Empty: the client takes variables only. */
  files(server: ServerFacts): readonly ClientFile[];
  /** Null: the client needs its file. */
  run(server: ServerFacts): ClientRun | null;
  /** A command line to try it with. */
  readonly tryIt: string;
}

/** The name of this server in the files of clients. */
export const PROVIDER = 'proxy';
export const TITLE = 'codex-app-server-proxy';

/** The base URL of OpenAI's APIs. */
export const openAiUrl = ({ url }: ServerFacts): string => `${url}/v1`;

/** For a model that the server does not describe, or while it does not run: what the models of codex have today. */
export const USUAL_WINDOW = 272_000;
export const USUAL_OUTPUT = 128_000;
