import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { access, constants, mkdtemp, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

/**
 * The native codex binary. It is spawned directly instead of through the package's JavaScript wrapper: one
 * process fewer, and signals reach it.
 */
export interface CodexBinary {
  readonly path: string;
  /** The version of `@openai/codex`, such as `0.169.0`. */
  readonly version: string;
  /** Set with `PROXY_CODEX_BINARY`: another build may take its place, even with the same version. */
  readonly isChosen?: true;
}

/** The binary of `PROXY_CODEX_BINARY` cannot be used; the message says why. */
export class UnusableBinary extends Error {}

/** npm package suffix and folder below `vendor`, by platform. */
const TARGETS: Readonly<Record<string, string>> = {
  'linux-x64': 'x86_64-unknown-linux-musl',
  'linux-arm64': 'aarch64-unknown-linux-musl',
  'darwin-x64': 'x86_64-apple-darwin',
  'darwin-arm64': 'aarch64-apple-darwin',
  'win32-x64': 'x86_64-pc-windows-msvc',
  'win32-arm64': 'aarch64-pc-windows-msvc',
};

export interface Platform {
  readonly platform: string;
  readonly arch: string;
}

/** The platform package and the path of the binary in it; null if codex does not support the platform. */
export const platformPackage = ({
  platform,
  arch,
}: Platform): { readonly name: string; readonly binary: string } | null => {
  const suffix = `${platform}-${arch}`;
  const target = TARGETS[suffix];
  if (target === undefined) return null;
  const file = platform === 'win32' ? 'codex.exe' : 'codex';
  return { name: `@openai/codex-${suffix}`, binary: path.join('vendor', target, 'bin', file) };
};

const readVersion = (packageJson: string): string => {
  const parsed: unknown = JSON.parse(readFileSync(packageJson, 'utf8'));
  if (typeof parsed === 'object' && parsed !== null && 'version' in parsed) {
    if (typeof parsed.version === 'string') return parsed.version;
  }
  throw new Error(`${packageJson} has no version`);
};

/** `from` is a file or URL of the project that depends on `@openai/codex`. */
export const findCodexBinary = (
  platform: Platform = process,
  from: string | URL = import.meta.url,
): CodexBinary => {
  const target = platformPackage(platform);
  if (target === null) {
    throw new Error(`codex has no binary for ${platform.platform} on ${platform.arch}`);
  }
  const mainPackage = resolvePackage(createRequire(from), '@openai/codex');
  // The platform package is a dependency of `@openai/codex`, so it is resolved from there: some package
  // managers hide it from our project.
  const nativePackage = resolvePackage(createRequire(mainPackage), target.name);
  const binary = path.join(path.dirname(nativePackage), target.binary);
  if (!existsSync(binary)) throw new Error(`the codex binary is missing: ${binary}`);
  return { path: binary, version: readVersion(mainPackage) };
};

const VERSION_TIMEOUT_MS = 20_000;

/** The binary at a path of the operator's choice; null: the one of the package. Throws `UnusableBinary`. */
export const openCodexBinary = async (
  chosen: string | null,
  signal: AbortSignal = AbortSignal.timeout(VERSION_TIMEOUT_MS),
): Promise<CodexBinary> => {
  if (chosen === null) return findCodexBinary();
  const unusable = (why: string): UnusableBinary =>
    new UnusableBinary(`PROXY_CODEX_BINARY=${chosen} ${why}: correct the path, or unset it.`);
  const found = await stat(chosen).catch(() => null);
  if (found === null) throw unusable('does not exist');
  if (!found.isFile()) throw unusable('is not a file');
  const isExecutable = await access(chosen, constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!isExecutable) throw unusable('is not executable');
  const said = await versionOutput(chosen, signal).catch(() => null);
  if (said === null) throw unusable('does not answer --version');
  const version = /\bcodex\S* (\d+\.\d+\.\d+\S*)/.exec(said)?.[1];
  if (version === undefined)
    throw unusable('is not codex, which answers --version with its name and version');
  return { path: chosen, version, isChosen: true };
};

/** What it answers to `--version`. codex writes helpers into its home even then, and must not create `~/.codex`. */
export const versionOutput = async (binary: string, signal: AbortSignal): Promise<string> => {
  const home = await mkdtemp(path.join(tmpdir(), 'codex-version-'));
  try {
    const env = { ...process.env, CODEX_HOME: home };
    const options = { signal, env, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 } as const;
    return (await promisify(execFile)(binary, ['--version'], options)).stdout;
  } finally {
    await rm(home, { recursive: true, force: true });
  }
};

const resolvePackage = (require: NodeJS.Require, name: string): string => {
  try {
    return require.resolve(`${name}/package.json`);
  } catch (cause) {
    throw new Error(
      `${name} is not installed. Run "npm ci" again; optional dependencies must not be left out.`,
      { cause },
    );
  }
};
