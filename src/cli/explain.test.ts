import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { describe, expect, it, afterEach, beforeEach } from 'vitest';

import { explain, explainListening, PlainError, loadSettings } from './explain.ts';
import { ConfigError } from '../config/load.ts';

const systemError = (fields: Partial<NodeJS.ErrnoException>): Error =>
  Object.assign(new Error('failed'), fields);
const AT = { host: '127.0.0.1', port: 80 };

describe('explain', () => {
  it.each<readonly [unknown, string | null]>([
    [new PlainError('Do this.'), 'Do this.'],
    [
      systemError({ code: 'EACCES', syscall: 'mkdir', path: '/x' }),
      'Cannot use /x (EACCES): check PROXY_STATE_DIR, PROXY_CODEX_WORKDIR and CODEX_HOME.',
    ],
    [
      systemError({ code: 'ENOSPC' }),
      'The disk is full (failed): make room, or name another PROXY_STATE_DIR.',
    ],
    // A bug keeps its stack.
    [new TypeError('x is not a function'), null],
    [systemError({ code: 'ERR_INVALID_ARG_TYPE' }), null],
  ])('%s', (error, expected) => {
    expect(explain(error)).toBe(expected);
  });
});

describe('explainListening', () => {
  it.each<readonly [string, RegExp]>([
    ['EADDRINUSE', /^Port 80 on 127\.0\.0\.1 is in use/],
    ['EACCES', /^This user is not allowed to use port 80/],
    ['EADDRNOTAVAIL', /^Cannot listen on 127\.0\.0\.1, port 80 \(EADDRNOTAVAIL\): check PROXY_HOST\.$/],
  ])('%s', (code, says) => {
    expect(explain(explainListening(systemError({ code, syscall: 'listen' }), AT))).toMatch(says);
  });

  it('ignores other errors', () => {
    const other = new Error('odd');
    expect(explainListening(other, AT)).toBe(other);
  });
});

const NEEDS_MODES = { meta: { needs: 'modes of files: not Windows' } };
describe.skipIf(process.platform === 'win32')('loadSettings', NEEDS_MODES, () => {
  let directory = '';
  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'load-settings-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

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
