import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { findCodexBinary, openCodexBinary, platformPackage, UnusableBinary } from './binary.ts';

describe('platformPackage', () => {
  it.each([
    ['linux', 'x64', '@openai/codex-linux-x64', 'vendor/x86_64-unknown-linux-musl/bin/codex'],
    ['linux', 'arm64', '@openai/codex-linux-arm64', 'vendor/aarch64-unknown-linux-musl/bin/codex'],
    ['darwin', 'arm64', '@openai/codex-darwin-arm64', 'vendor/aarch64-apple-darwin/bin/codex'],
    ['darwin', 'x64', '@openai/codex-darwin-x64', 'vendor/x86_64-apple-darwin/bin/codex'],
    ['win32', 'x64', '@openai/codex-win32-x64', 'vendor/x86_64-pc-windows-msvc/bin/codex.exe'],
  ])('%s %s', (platform, arch, name, binary) => {
    expect(platformPackage({ platform, arch })).toEqual({ name, binary });
  });

  it('returns null for platforms without codex', () => {
    expect(platformPackage({ platform: 'sunos', arch: 'sparc' })).toBeNull();
  });
});

describe('findCodexBinary', () => {
  it('finds the installed binary and its version', () => {
    const { path: binary, version } = findCodexBinary();
    expect([/codex(\.exe)?$/.test(binary), /^\d+\.\d+\.\d+/.test(version)]).toEqual([true, true]);
  });

  it.each([
    ['an unknown platform', { platform: 'sunos', arch: 'sparc' }, 'codex has no binary for sunos on sparc'],
    // The lock file installs only the platform package of this machine.
    [
      'a missing platform package',
      { platform: 'win32', arch: 'arm64' },
      '@openai/codex-win32-arm64 is not installed',
    ],
  ])('explains a failure: %s', (_, platform, message) => {
    expect(() => findCodexBinary(platform)).toThrow(message);
  });

  it('reports that codex itself is missing', () => {
    expect(() => findCodexBinary(process, 'file:///nowhere/main.js')).toThrow(
      '@openai/codex is not installed',
    );
  });
});

describe('openCodexBinary', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'codex-binary-'));
  afterAll(() => rm(directory, { recursive: true, force: true }));
  const file = async (name: string, text: string, mode: number): Promise<string> => {
    const at = path.join(directory, name);
    await writeFile(at, text);
    await chmod(at, mode);
    return at;
  };

  it('takes the binary of the package unless another one is chosen', async () => {
    const { path: binary, version } = findCodexBinary();
    expect(await openCodexBinary(null)).toEqual({ path: binary, version });
    expect(await openCodexBinary(binary)).toEqual({ path: binary, version, isChosen: true });
  });

  it.each([
    ['does not exist', async () => path.join(directory, 'nothing')],
    [
      'is not a file',
      async () => {
        await mkdir(path.join(directory, 'folder'), { recursive: true });
        return path.join(directory, 'folder');
      },
    ],
    ['is not executable', () => file('text', '#!/bin/sh\necho codex-cli 1.2.3\n', 0o644)],
    ['does not answer --version', () => file('fails', '#!/bin/sh\nexit 3\n', 0o755)],
    [
      'is not codex, which answers --version with its name and version',
      () => file('other', '#!/bin/sh\necho other 1.2.3\n', 0o755),
    ],
  ])('explains that the chosen file %s', async (why, make) => {
    const chosen = await make();
    await expect(openCodexBinary(chosen)).rejects.toThrow(
      new UnusableBinary(`PROXY_CODEX_BINARY=${chosen} ${why}: correct the path, or unset it.`),
    );
  });

  it('does not wait for ever for --version', async () => {
    const chosen = await file('hangs', '#!/bin/sh\nexec sleep 600\n', 0o755);
    const limit = new AbortController();
    const opened = openCodexBinary(chosen, limit.signal).catch(String);
    limit.abort();
    expect(await opened).toContain('does not answer --version');
  });
});
