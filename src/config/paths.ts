import { homedir } from 'node:os';
import { resolve } from 'node:path';

export const DEFAULT_STATE_DIR = '~/.codex-app-server-proxy';

/** A path of a setting: `~` is the home directory, and a relative one begins at `base`. */
export const absolutePath = (text: string, base: string): string =>
  resolve(
    base,
    text.replace(/^~(?=$|[/\\])/, () => homedir()),
  );
