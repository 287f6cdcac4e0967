import type { FileAccess, SandboxProfile } from '../../../codex/home/config-toml.ts';
import { PROVIDER_ID } from '../../../codex/protocol/provider.ts';
import type { ParamsOf } from '../../../codex/protocol/methods.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';

/** What all sandboxes of a server share. */
export interface SandboxLayout {
  /** The binary of codex, which starts commands. */
  readonly binary: string;
  /** The folder of the search tool that its instructions name. Null: this build has none. */
  readonly searchFolder: string | null;
  /** The state folder. The folders of runs lie in it. */
  readonly stateDir: string;
  /** What commands cannot read, even if it lies in a folder that they see. */
  readonly secretPaths: readonly string[];
  /** All workspaces: the commands of one cannot read another. */
  readonly workspacePaths: readonly string[];
}

/** What a run works on. */
export interface AgentPlaceRequest {
  /** Null: no folder, and none of codex's tools. */
  readonly workspace: Workspace | null;
  /** May be narrower than that of the workspace. */
  readonly access: Workspace['access'];
}

export interface RunSandbox {
  readonly layout: SandboxLayout;
  /** The home of the commands, which is theirs alone. It may lie in a secret folder. */
  readonly runFolder: string;
  /** Folders in the workspace that cannot be moved. Default: none. */
  readonly fixedFolders?: readonly string[];
}

/** Whether commands have less access than the workspace gives: then they do not change its further folders either. */
export const isNarrowed = (workspace: Workspace, access: Workspace['access']): boolean =>
  access === 'read' && workspace.access === 'write';

/** The sandbox of a workspace's commands. */
export const sandboxProfile = (
  workspace: Workspace,
  access: Workspace['access'],
  { layout, runFolder, fixedFolders = [] }: RunSandbox,
): SandboxProfile => {
  const others = layout.workspacePaths.filter((other) => other !== workspace.path);
  const inside: Record<string, FileAccess> = { '.': access };
  // Otherwise codex protects it.
  if (workspace.git && access === 'write') inside['.git'] = 'write';
  for (const folder of fixedFolders) inside[folder] = access;
  for (const hidden of workspace.hide) inside[hidden] = 'deny';
  return {
    filesystem: {
      ':minimal': 'read',
      ...all([layout.binary, ...(layout.searchFolder === null ? [] : [layout.searchFolder])], 'read'),
      ...all(workspace.read, 'read'),
      ...all(workspace.write, isNarrowed(workspace, access) ? 'read' : 'write'),
      ':workspace_roots': inside,
      ...all(deniedIn([...workspace.read, ...workspace.write], layout, others), 'deny'),
      [runFolder]: 'write',
    },
    network: networkOf(workspace.network),
  };
};

/**
 * The sandbox of commands without a thread. They have the settings of the app-server, and so its proxy: with the network
 * `all` they reach what programs reach through a proxy, and not this machine.
 */
export const commandProfile = (
  workspace: Workspace,
  access: Workspace['access'],
  sandbox: RunSandbox,
): SandboxProfile => ({
  ...sandboxProfile(workspace, access, sandbox),
  network: networkOf(workspace.network === 'all' ? ['*'] : workspace.network),
});

/** What `:minimal` shows. */
export const SYSTEM_FOLDERS = [
  '/bin',
  '/sbin',
  '/usr',
  '/etc',
  '/lib',
  '/lib64',
  '/nix/store',
  '/run/current-system/sw',
];

/**
 * What has to be denied: all else is not there for commands. The binary must be visible, and what lies in a denied folder is
 * not, unless commands may write to it.
 */
const deniedIn = (
  folders: readonly string[],
  { binary, stateDir, secretPaths }: SandboxLayout,
  workspaces: readonly string[],
): readonly string[] => {
  const seen = [...SYSTEM_FOLDERS, ...folders];
  const denied = [...secretPaths, ...workspaces].filter((secret) =>
    seen.some((folder) => secret !== folder && lies(secret, folder)),
  );
  return outermost([stateDir, ...denied]).filter((secret) => !lies(binary, secret));
};

/** codex cannot hide what lies in a hidden folder. */
const outermost = (paths: readonly string[]): readonly string[] =>
  [...new Set(paths)].filter((inner, _, every) =>
    every.every((outer) => outer === inner || !lies(inner, outer)),
  );

/** Whether a path is the folder, or lies in it. */
export const lies = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);

const all = (paths: readonly string[], access: FileAccess): Readonly<Record<string, FileAccess>> =>
  Object.fromEntries(paths.map((path) => [path, access]));

const networkOf = (hosts: Workspace['network']): SandboxProfile['network'] => {
  if (hosts === 'all') return { enabled: true };
  // Without any host codex would open the whole network.
  if (hosts === 'none' || hosts.length === 0) return { enabled: false };
  return { enabled: true, domains: Object.fromEntries(hosts.map((host) => [host, domainRule(host)])) };
};

/** codex lets commands reach this machine if it is among the names. Here it never is. */
const domainRule = (host: string): 'allow' | 'deny' =>
  /^(?:(?:.*\.)?localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[?::1\]?)\.?$/.test(host) ? 'deny' : 'allow';

/** For threads without a workspace, whose tools are off as well. */
export const emptyProfile = (layout: SandboxLayout): SandboxProfile => ({
  filesystem: { ':minimal': 'read', ...all(deniedIn([], layout, layout.workspacePaths), 'deny') },
  network: { enabled: false },
});

const PROGRAM_FOLDERS = '/usr/local/bin:/usr/bin:/bin';

/** The programs that commands find: those of the system, or as configured, and codex's search tool. */
const programFolders = ({ env }: Workspace, { searchFolder }: SandboxLayout): string =>
  [env['PATH'] ?? PROGRAM_FOLDERS, ...(searchFolder === null ? [] : [searchFolder])].join(':');

/**
 * Files in the home of commands. Commands run in a login shell: `/etc/profile` replaces PATH, and these are read after it.
 * Without a PATH in the configuration, that of the machine stays.
 */
export const loginFiles = (workspace: Workspace, layout: SandboxLayout): Readonly<Record<string, string>> => {
  const { env } = workspace;
  if (env['PATH'] === undefined && layout.searchFolder === null) return {};
  const path =
    env['PATH'] === undefined
      ? `"$PATH":${shellWord(layout.searchFolder ?? '')}`
      : shellWord(programFolders(workspace, layout));
  const text = `export PATH=${path}\n`;
  return { '.profile': text, '.zprofile': text };
};

const shellWord = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The variables of commands besides those that every program gets. */
export const commandVariables = (
  workspace: Workspace,
  { layout, runFolder }: RunSandbox,
): Readonly<Record<string, string>> => ({
  ...workspace.env,
  PATH: programFolders(workspace, layout),
  // By these the clean-up finds what is left of a run.
  HOME: runFolder,
  TMPDIR: runFolder,
});

/** Any name that no profile of the configuration has. */
const PROFILE = 'run';

/** Members of `thread/start` for a run in a workspace. */
export const workspaceThread = (
  workspace: Workspace,
  access: Workspace['access'],
  sandbox: RunSandbox,
): Partial<ParamsOf<'thread/start'>> => ({
  ...COMMON,
  cwd: workspace.path,
  config: {
    default_permissions: PROFILE,
    permissions: { [PROFILE]: { ...sandboxProfile(workspace, access, sandbox) } },
    shell_environment_policy: {
      inherit: 'core',
      set: commandVariables(workspace, sandbox),
    },
    // The proxy, through which named hosts are reached, would let no host pass.
    ...(workspace.network === 'all' ? { features: { network_proxy: false } } : {}),
  },
});

const COMMON = {
  modelProvider: PROVIDER_ID,
  // Under `untrusted` codex runs a failed command again outside of the sandbox; under `never` it refuses harmless ones.
  approvalPolicy: 'on-request',
  ephemeral: true,
} as const;

/**
 * Members of `thread/start` for a run without a workspace. codex still offers `apply_patch`, as it is a property of
 * the model; it changes nothing, and the gateway does not pass it on.
 */
export const threadWithoutWorkspace = (runFolder: string): Partial<ParamsOf<'thread/start'>> => ({
  ...COMMON,
  cwd: runFolder,
  environments: [],
  config: {
    include_environment_context: false,
    features: { shell_tool: false, unified_exec: false, view_image: false },
    tools: { update_plan: { enabled: false } },
  },
});
