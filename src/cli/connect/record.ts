import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import path from 'node:path';

import { makePrivateDirectory, readIfPresent, writeAtomically } from '../../codex/home/files.ts';
import { isJsonObject, parseJsonObject } from '../../kit/json/json.ts';
import { PlainError } from '../explain.ts';
import type { ClientFile } from '../../connect/client.ts';
import type { Change } from './merge.ts';

/** What this command did to a file. */
export interface FileRecord {
  readonly file: string;
  readonly real: string;
  readonly format: ClientFile['format'];
  /** The name of the copy of the former file; null if there was none. */
  readonly backup: string | null;
  /** The mode of the former file. */
  readonly mode: number | null;
  /** Of the text that was written. */
  readonly digest: string;
  readonly changes: readonly Change[];
  /** The key that was written, to hide it when the file is shown. */
  readonly key: string;
  /** The first folder that was created for the file. */
  readonly firstFolder: string | null;
}

/** The key that a server made for a client. */
export interface KeptKey {
  /** Of the server. */
  readonly url: string;
  readonly id: string;
  readonly name: string;
  readonly key: string;
  /** Contains the key alone, for clients that read it from there. */
  readonly keyFile: string;
}

export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

const VERSION = 1;

/** The records of one client, and the backups of its files, in a private folder next to the state of the server. */
export class Records {
  readonly #folder: string;

  constructor(stateDir: string, client: string) {
    this.#folder = path.join(stateDir, 'connect', client);
  }

  get #file(): string {
    return path.join(this.#folder, 'record.json');
  }

  async read(): Promise<readonly FileRecord[]> {
    const text = await readIfPresent(this.#file);
    if (text === null) return [];
    const stored = parseJsonObject(text);
    if (
      stored?.['version'] !== VERSION ||
      !Array.isArray(stored['files']) ||
      !stored['files'].every(isJsonObject)
    )
      throw new PlainError(`${this.#file} was written by another version of this program, or is damaged.`);
    return stored['files'] as unknown as readonly FileRecord[];
  }

  /** The former text of a file; null if there was none. */
  async backupOf({ backup }: FileRecord): Promise<string | null> {
    if (backup === null) return null;
    const text = await readIfPresent(path.join(this.#folder, backup));
    if (text === null) throw new PlainError(`The backup ${path.join(this.#folder, backup)} is missing.`);
    return text;
  }

  /** Keeps a copy. Returns its name. */
  async keep(file: string, text: string): Promise<string> {
    await makePrivateDirectory(this.#folder);
    const name = `${digestOf(file).slice(0, 8)}-${path.basename(file)}`;
    await writeAtomically(path.join(this.#folder, name), text);
    return name;
  }

  /** Without records the whole folder goes. */
  async write(files: readonly FileRecord[]): Promise<void> {
    if (files.length === 0) {
      await rm(this.#folder, { recursive: true, force: true });
      return;
    }
    await makePrivateDirectory(this.#folder);
    await writeAtomically(this.#file, `${JSON.stringify({ version: VERSION, files }, null, 2)}\n`);
  }

  /** The key that this server made for the client; without an address: that of any server. Null: none is kept. */
  async readKey(url?: string): Promise<KeptKey | null> {
    const [about, secret] = [await readIfPresent(this.#aboutKey), await readIfPresent(this.#keyFile)];
    const { url: at, id, name } = parseJsonObject(about ?? '') ?? {};
    if (typeof at !== 'string' || typeof id !== 'string' || typeof name !== 'string') return null;
    const key = secret?.trim() ?? '';
    if (key === '' || (url !== undefined && url !== at)) return null;
    return { url: at, id, name, key, keyFile: this.#keyFile };
  }

  /** Keeps the key for the next run. */
  async keepKey({ key, ...about }: Omit<KeptKey, 'keyFile'>): Promise<KeptKey> {
    await makePrivateDirectory(this.#folder);
    await writeAtomically(this.#keyFile, `${key}\n`);
    await writeAtomically(this.#aboutKey, `${JSON.stringify(about, null, 2)}\n`);
    return { ...about, key, keyFile: this.#keyFile };
  }

  get #keyFile(): string {
    return path.join(this.#folder, 'key');
  }

  get #aboutKey(): string {
    return path.join(this.#folder, 'key.json');
  }

  pathOf(backup: string): string {
    return path.join(this.#folder, backup);
  }
}
