import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { ConfigError } from '../config/load.ts';
import { loadSettings } from './load-settings.ts';

let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'load-settings-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const NEEDS_MODES = { meta: { needs: 'modes of files: not Windows' } };
describe.skipIf(process.platform === 'win32')('loadSettings', NEEDS_MODES, () => {
  it('rejects a config file that other users may write', async () => {
    const file = path.join(directory, 'config.json');
    await writeFile(file, '{"port": 5}', { mode: 0o644 });
    const environments = [{ PROXY_STATE_DIR: directory }, { PROXY_CONFIG: file }];
    for (const environment of environments) {
      expect((await loadSettings(environment)).http.port).toBe(5);
    }
    await chmod(file, 0o666);
    for (const environment of environments) {
      const refused = loadSettings(environment);
      await expect(refused).rejects.toThrow(ConfigError);
      await expect(refused).rejects.toThrow(
        new RegExp(
          `Config file ${file}: Other users may write to ${file}: .* or name another config file with PROXY_CONFIG`,
        ),
      );
    }
  });
});
