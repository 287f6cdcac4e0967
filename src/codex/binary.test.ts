import { describe, expect, it } from 'vitest';

import { findCodexBinary, platformPackage } from './binary.ts';

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
    const { path, version } = findCodexBinary();
    expect([/codex(\.exe)?$/.test(path), /^\d+\.\d+\.\d+/.test(version)]).toEqual([true, true]);
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
