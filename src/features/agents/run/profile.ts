import type { FileAccess, SandboxProfile } from '../../../codex/home/config-toml.ts';
import { PROVIDER_ID } from '../../../codex/protocol/provider.ts';
import type { ParamsOf } from '../../../codex/protocol/methods.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';

/** What all sandboxes of a server share. */
export interface SandboxLayout {
  /** Files and folders of codex that commands need: its binary, which starts them, and its search tool. */
  readonly codexPaths: readonly string[];
  /** Folders that are searched for programs. */
  readonly programFolders: readonly string[];
  /** What commands cannot read, whatever else they may. */
  readonly secretPaths: readonly string[];
  /** The language of the commands, such as `C.UTF-8`. */
  readonly language: string;
}

/** What a run works on. */
export interface AgentPlaceRequest {
  /** Null: no folder, and none of codex's tools. */
  readonly workspace: Workspace | null;
  /** May be narrower than that of the workspace. */
  readonly access: Workspace['access'];
}

/** The sandbox of a workspace's commands. `runFolder` is theirs alone; null: they have none. */
export const sandboxProfile = (
  workspace: Workspace,
  access: Workspace['access'],
  { layout, runFolder }: { readonly layout: SandboxLayout; readonly runFolder: string | null },
): SandboxProfile => {
  const isNarrowed = access === 'read' && workspace.access === 'write';
  const inside: Record<string, FileAccess> = { '.': access };
  // Otherwise codex protects it.
  if (workspace.git && access === 'write') inside['.git'] = 'write';
  for (const hidden of workspace.hide) inside[hidden] = 'deny';
  return {
    filesystem: {
      ':minimal': 'read',
      ...all(layout.codexPaths, 'read'),
      ...all(workspace.read, 'read'),
      ...all(workspace.write, isNarrowed ? 'read' : 'write'),
      ':workspace_roots': inside,
      ...all(layout.secretPaths, 'deny'),
      ...(runFolder === null ? {} : { [runFolder]: 'write' }),
    },
    network: networkOf(workspace.network),
  };
};

const all = (paths: readonly string[], access: FileAccess): Readonly<Record<string, FileAccess>> =>
  Object.fromEntries(paths.map((path) => [path, access]));

const networkOf = (hosts: Workspace['network']): SandboxProfile['network'] => {
  if (hosts === 'all') return { enabled: true };
  // Without any host codex would open the whole network.
  if (hosts === 'none' || hosts.length === 0) return { enabled: false };
  return { enabled: true, domains: Object.fromEntries(hosts.map((host) => [host, 'allow'])) };
};

/** For threads without a workspace, whose tools are off as well. */
export const emptyProfile = ({ secretPaths }: SandboxLayout): SandboxProfile => ({
  filesystem: { ':minimal': 'read', ...all(secretPaths, 'deny') },
  network: { enabled: false },
});

/** The variables of commands besides those that every program gets. `home` is their home and temporary folder. */
export const commandVariables = (
  workspace: Workspace,
  { layout, home }: { readonly layout: SandboxLayout; readonly home: string },
): Readonly<Record<string, string>> => ({
  PATH: layout.programFolders.join(':'),
  LANG: layout.language,
  HOME: home,
  ...workspace.env,
  // By this the clean-up finds what is left of a run.
  TMPDIR: home,
});

/** Any name that no profile of the configuration has. */
const PROFILE = 'run';

/** Members of `thread/start` for a run in a workspace. */
export const workspaceThread = (
  workspace: Workspace,
  access: Workspace['access'],
  { layout, runFolder }: { readonly layout: SandboxLayout; readonly runFolder: string },
): Partial<ParamsOf<'thread/start'>> => ({
  ...COMMON,
  cwd: workspace.path,
  config: {
    default_permissions: PROFILE,
    permissions: { [PROFILE]: { ...sandboxProfile(workspace, access, { layout, runFolder }) } },
    shell_environment_policy: {
      inherit: 'core',
      set: commandVariables(workspace, { layout, home: runFolder }),
    },
    // `/etc/profile` replaces the PATH.
    allow_login_shell: false,
  },
});

const COMMON = {
  modelProvider: PROVIDER_ID,
  // Under `untrusted` codex runs a failed command again outside of the sandbox; under `never` it refuses harmless ones.
  approvalPolicy: 'on-request',
  ephemeral: true,
} as const;

/** Members of `thread/start` for a run without a workspace: the model is offered none of codex's tools. */
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
