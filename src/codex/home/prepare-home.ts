import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { realpath, writeFile, statfs } from 'node:fs/promises';
import path from 'node:path';
import { rootCertificates } from 'node:tls';
import { promisify } from 'node:util';

import type { JsonObject } from '../../kit/json/json.ts';
import { systemAmbient } from '../../kit/ambient.ts';
import type { CodexBinary } from '../binary.ts';
import { childEnvironment, loginVariables, type Environment } from './environment.ts';
import { staysOnLoopback, type BackendTarget, type LoginBackend } from './backend.ts';
import {
  agentCatalogue,
  cleanCatalogue,
  entriesOf,
  type Catalogue,
  type CatalogueKind,
} from './catalogue.ts';
import { configToml, type AgentSandbox } from './config-toml.ts';
import { exists, makePrivateDirectory, readIfPresent, writeAtomically } from './files.ts';
import { LoginStore, type KeptLogin, revisionOf } from './login-store.ts';
import { projectFolders } from './private-folders.ts';
import { createRunDirectory, sweepRunDirectories } from './run-directories.ts';
import { ACCESS_TOKEN_ENV, authOf } from './access-token.ts';

/**
 * The homes of codex below the state directory:
 *
 * <state>/codex/            persistent: our login (`auth.json`), the installation id, the models of this
 * codex version
 * <state>/run/home-…/       the CODEX_HOME of one worker; next to it the lock that marks it as in use
 *
 * Each worker has its own home, which is removed with it: codex gets slower as its databases grow, so a
 * replacement worker starts with an empty home; and processes that share a state directory cannot disturb
 * each other. `CODEX_SQLITE_HOME` would separate only the databases, not the
 * configuration.
 */
export interface CodexHomes extends WorkerHomes {
  /** Where `codex login` must put a login for us: `CODEX_HOME=<this> codex login`. */
  readonly loginHome: string;
  /** The login in it, with its copies in the homes of app-servers, or an access token. */
  readonly login: KeptLogin;
  /** Directory of other persistent files. */
  readonly lastingDirectory: string;
  /** The models bundled with this codex version, in its own form. */
  readonly bundled: readonly JsonObject[];
  /** A home for an app-server whose tools work in folders of the deployment. It has no login. */
  createForAgents(agents: AgentHome): Promise<CodexHome>;
  /** A home for a codex command that needs the login and codex's own catalogue. */
  createPlain(backend: BackendTarget): Promise<CodexHome>;
}

/** What the start of an app-server needs. */
export interface WorkerHomes {
  readonly binary: CodexBinary;
  /** Uses the bundled models without a catalogue. */
  create(backend: BackendTarget, catalogue?: Catalogue): Promise<CodexHome>;
  /** Throws ENOSPC, with this cause, if the disk has no space for another home. */
  requireSpace(cause: unknown): Promise<void>;
}

/** Only the backend of a ChatGPT login has the codex format. */
export const catalogueKind = (backend: BackendTarget): CatalogueKind =>
  backend.kind === 'login' && backend.login === 'chatgpt' ? 'chatgpt' : 'api';

/** What the home of an app-server with tools differs in. */
export interface AgentHome {
  /** The base URL of its only provider. */
  readonly modelUrl: string;
  /** The models in codex's own form. */
  readonly entries: readonly JsonObject[];
  readonly sandbox: AgentSandbox;
  /** The folders that its threads work in. Their own settings for codex have no effect. */
  readonly folders: readonly string[];
}

export interface CodexHome {
  readonly path: string;
  readonly environment: Readonly<Record<string, string>>;
  /** False if the home or its configuration was removed. */
  isIntact(): Promise<boolean>;
  /** Removes the directory. The persistent login stays. */
  remove(): Promise<void>;
}

interface HomesOptions {
  readonly stateDir: string;
  readonly binary: CodexBinary;
  /** The environment of this process. CODEX_HOME names the login to use. */
  readonly environment: Environment;
  /** Used in place of the login in CODEX_HOME, as codex does. */
  readonly accessToken?: string | null;
  /** Where threads work. Its own settings for codex have no effect. Default: no such folder. */
  readonly workDir?: string;
  /** Whether app-servers may send feedback to OpenAI. Default: false. */
  readonly allowsFeedback?: boolean;
  /** Called if renewed tokens could not be saved: they stay in memory and are lost with this process. */
  readonly onUnsavedLogin?: (error: unknown) => void;
}

const COMMAND_TIMEOUT_MS = 30_000;
const CERTIFICATE_FILE = 'certificate.pem';

export const prepareHomes = async (options: HomesOptions): Promise<CodexHomes> => {
  const { stateDir, binary, environment, workDir, allowsFeedback = false } = options;
  // Feedback is sent over https.
  const needsNoCertificates = (backend: BackendTarget): boolean =>
    !allowsFeedback && staysOnLoopback(backend);
  const lasting = path.resolve(stateDir, 'codex');
  const runs = path.resolve(stateDir, 'run');
  await makePrivateDirectory(lasting);
  await makePrivateDirectory(runs);
  const loginHome = await loginHomeOf(environment['CODEX_HOME'], lasting);
  const kept = new LoginStore({
    file: path.join(loginHome, 'auth.json'),
    clock: systemAmbient.clock,
    ...(options.onUnsavedLogin === undefined ? {} : { onUnsaved: options.onUnsavedLogin }),
  });
  const accessToken = options.accessToken ?? null;
  const login = accessToken === null ? kept : environmentLogin(accessToken);
  // Tokens that an earlier process renewed belong to the login in the file.
  await sweepRunDirectories(runs, (directory) => kept.rescue(directory));

  const emptyHome = async (backend: BackendTarget): Promise<CodexHome> => {
    await requireDiskSpace(runs);
    const run = await createRunDirectory(runs);
    const directory = run.path;
    return {
      path: directory,
      environment: childEnvironment(environment, {
        codexHome: directory,
        apiKeyEnv: backend.kind === 'upstream' ? backend.apiKeyEnv : null,
        certificateFile: needsNoCertificates(backend) ? path.join(directory, CERTIFICATE_FILE) : null,
        login: backend.kind === 'login' ? { ...loginVariables(backend), ...login.childEnvironment } : {},
      }),
      // codex reads it for every thread. Without it a turn would go to codex's default backend.
      isIntact: () => exists(path.join(directory, 'config.toml')),
      async remove() {
        await login.release(directory);
        await run.remove();
      },
    };
  };

  const cache = binary.isChosen === true ? null : path.join(lasting, `models-${binary.version}.json`);
  const bundled = await loadBundled(cache, async () => {
    const scratch = await emptyHome({ kind: 'none' });
    try {
      return await bundledModels(binary, scratch);
    } finally {
      await scratch.remove();
    }
  });
  const installationId = await loadInstallationId(path.join(lasting, 'installation_id'));

  const catalogues = { chatgpt: lazily(bundled, 'chatgpt'), api: lazily(bundled, 'api') };
  const filledHome = async (
    backend: BackendTarget,
    { catalogue, folders = workDir === undefined ? [] : [workDir], ...agent }: HomeKind,
  ): Promise<CodexHome> => {
    const home = await emptyHome(backend);
    const catalogueFile = catalogue === null ? null : path.join(home.path, 'catalog.json');
    try {
      // Looked up for each home: a folder may become part of a repository later.
      const untrusted = [...new Set((await Promise.all(folders.map(projectFolders))).flat())];
      const settings = {
        backend,
        catalogueFile,
        codexVersion: binary.version,
        allowsFeedback,
        untrusted,
        ...agent,
      };
      await fillHome(home.path, {
        backend,
        login,
        files: {
          ...(catalogue === null ? {} : { 'catalog.json': catalogue }),
          installation_id: backend.kind === 'login' ? idOfAccount(installationId, backend) : installationId,
          'config.toml': configToml(settings),
        },
      });
      return home;
    } catch (error) {
      await home.remove();
      throw error;
    }
  };

  return {
    loginHome,
    login,
    lastingDirectory: lasting,
    binary,
    bundled,
    create: async (backend, catalogue = catalogues[catalogueKind(backend)]()) =>
      filledHome(backend, { catalogue: catalogue.json }),
    createForAgents: ({ modelUrl, entries, sandbox, folders }) =>
      filledHome(
        { kind: 'upstream', baseUrl: modelUrl, apiKeyEnv: null },
        { catalogue: agentCatalogue(entries), sandbox, folders, allowsFeedback: false },
      ),
    createPlain: (backend) => filledHome(backend, { catalogue: null }),
    requireSpace: (cause) => requireDiskSpace(runs, cause),
  };
};

/** A catalogue has some hundred KB, and most processes need only one. */
const lazily = (bundled: readonly JsonObject[], kind: CatalogueKind): (() => Catalogue) => {
  let made: Catalogue | null = null;
  return () => (made ??= cleanCatalogue(bundled, kind));
};

/** What differs between homes besides the backend. */
interface HomeKind {
  /** Content of the catalogue file; null: codex asks its backend for the models. */
  readonly catalogue: string | null;
  /** Where threads work. Default: the working directory. */
  readonly folders?: readonly string[];
  readonly sandbox?: AgentSandbox;
  readonly allowsFeedback?: boolean;
}

interface HomeContents {
  readonly backend: BackendTarget;
  readonly files: Readonly<Record<string, string>>;
  readonly login: KeptLogin;
}

const fillHome = async (directory: string, { backend, files, login }: HomeContents): Promise<void> => {
  const write = (name: string, text: string): Promise<void> =>
    writeFile(path.join(directory, name), text, { mode: 0o600 });
  for (const [name, text] of Object.entries(files)) await write(name, text);
  // Any certificate will do, because nothing is signed by it; an empty file would mean no certificates.
  if (staysOnLoopback(backend)) await write(CERTIFICATE_FILE, `${rootCertificates[0] ?? ''}\n`);
  // With a login in its home the app-server requests the account's settings before every thread, even for
  // another backend. So it gets one only if the login is used.
  if (backend.kind !== 'login' && backend.kind !== 'none') return;
  await login.copyInto(directory);
};

/**
 * A CODEX_HOME named by the user belongs to the user: we write only renewed tokens, to its `auth.json`.
 * Without one, `~/.codex` is ignored.
 */
const loginHomeOf = async (named: string | undefined, own: string): Promise<string> => {
  if (named === undefined || named === '') return own;
  const directory = path.resolve(named);
  return (await exists(directory)) ? realpath(directory) : directory;
};

/**
 * The models of a codex version never change, so its list is cached. Our edits are applied at each start: a
 * cached result would outlive a change of ours.
 */
const loadBundled = async (
  cache: string | null,
  ask: () => Promise<string>,
): Promise<readonly JsonObject[]> => {
  if (cache === null) return entriesOf(JSON.parse(await ask()));
  const cached = await readIfPresent(cache);
  const kept = cached === null ? null : entriesOrNull(cached);
  if (kept !== null) return kept;
  const text = await ask();
  const entries = entriesOf(JSON.parse(text));
  await writeAtomically(cache, text);
  return entries;
};

/** A broken cache is created again. */
const entriesOrNull = (cached: string): readonly JsonObject[] | null => {
  try {
    return entriesOf(JSON.parse(cached));
  } catch {
    return null;
  }
};

const bundledModels = async (binary: CodexBinary, home: CodexHome): Promise<string> => {
  const { stdout } = await promisify(execFile)(binary.path, ['debug', 'models', '--bundled'], {
    env: home.environment,
    cwd: home.path,
    timeout: COMMAND_TIMEOUT_MS,
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
};

/** The installation as one account sees it: the same at every start, and unlike that of other accounts. A UUID, as codex writes it. */
const idOfAccount = (installationId: string, { account }: LoginBackend): string => {
  const hash = createHash('sha256').update(`${installationId} ${account}`).digest('hex');
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `4${hash.slice(13, 16)}`,
    `8${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ].join('-');
};

/**
 * codex sends this id with every request. One per home would look like a new installation at each start, so
 * it is persistent.
 */
const loadInstallationId = async (file: string): Promise<string> => {
  const known = await readIfPresent(file);
  if (known !== null && known.trim() !== '') return known.trim();
  await writeAtomically(file, randomUUID());
  // Read back: another process may have written it at the same time.
  return ((await readIfPresent(file)) ?? '').trim();
};

/**
 * A home of codex 0.166 takes 2.7 MB before its first turn. With less, codex exits without naming the reason,
 * or waits for its own database until the timeout; with slightly more, a few turns fill the disk.
 */
const MIN_FREE_BYTES = 4 * 1024 * 1024;

/** Throws ENOSPC if the disk has no space for a home. File systems that do not report their size pass. */
const requireDiskSpace = async (directory: string, cause?: unknown): Promise<void> => {
  const disk = await statfs(directory).catch(() => null);
  if (disk === null || disk.blocks === 0) return;
  // The last blocks of a disk are often reserved for root.
  const freeBytes = (process.getuid?.() === 0 ? disk.bfree : disk.bavail) * disk.bsize;
  const hasFiles = disk.files === 0 || disk.ffree > 0;
  if (freeBytes >= MIN_FREE_BYTES && hasFiles) return;
  const left = hasFiles ? `${Math.floor(freeBytes / 1024)} KB are` : 'no inodes are';
  const message = `ENOSPC: ${left} left for ${directory}; a home of codex needs ${MIN_FREE_BYTES / 1024} KB`;
  throw Object.assign(new Error(message, { cause }), { code: 'ENOSPC' });
};

/**
 * The login of an access token in the environment. It is passed to app-servers in theirs and never written to
 * a file. It stays the same until this process ends, and no `auth.json` is read or changed.
 */
export const environmentLogin = (token: string): KeptLogin => {
  const text = authOf(token);
  const nothing = async (): Promise<void> => {};
  return {
    origin: 'environment',
    childEnvironment: { [ACCESS_TOKEN_ENV]: token },
    stamp: async () => 'environment',
    find: async () => ({ kind: 'text', text }),
    read: async () => text,
    revisionOf,
    copyInto: nothing,
    release: nothing,
    collect: nothing,
    rescue: nothing,
    renewed: nothing,
    successorOf: async () => null,
    wasRenewedSince: async () => false,
  };
};
