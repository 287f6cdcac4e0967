import type { GatewayError } from '../../../canonical/failure/failure.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import { matchesPattern } from '../../../canonical/models/prices.ts';
import type { Core, Offers } from '../../../compose/feature.ts';
import { quoted } from '../../../kit/text/display.ts';
import { agentError } from '../failures.ts';

/** Which workspaces a key may use. To others it gets the same answers as for those that do not exist. */
export interface WorkspaceAccess {
  /** In the order of the configuration. */
  usableBy(keyId: string): readonly Workspace[];
  /** Null: unknown to the key. */
  byLabel(keyId: string, label: string): Workspace | null;
  /** By its name or its exact configured path, and by no other way to write that path. Throws `unknown_workspace`. */
  named(keyId: string, nameOrPath: string, param: string): Workspace;
}

/** `patternsOf` is asked each time: a key may be changed at any time. */
export const openWorkspaceAccess = (
  workspaces: Core['workspaces'],
  patternsOf: Offers['workspacesOf'],
): WorkspaceAccess => {
  const usableBy = (keyId: string): readonly Workspace[] => {
    const patterns = patternsOf(keyId);
    if (patterns === 'all') return workspaces;
    return workspaces.filter(({ label }) => patterns.some((pattern) => matchesPattern(pattern, label)));
  };
  return {
    usableBy,
    byLabel: (keyId, label) => usableBy(keyId).find((one) => one.label === label) ?? null,
    named(keyId, nameOrPath, param) {
      const usable = usableBy(keyId);
      const found =
        usable.find(({ label }) => label === nameOrPath) ??
        usable.find(({ configuredPath }) => configuredPath === nameOrPath);
      if (found === undefined) throw unknownWorkspace(nameOrPath, usable, param);
      return found;
    },
  };
};

const unknownWorkspace = (text: string, usable: readonly Workspace[], param: string): GatewayError => {
  const names = usable.map(({ label }) => label).join(', ');
  return agentError('unknown_workspace', {
    param,
    message: `There is no workspace '${quoted(text)}'. This key may use ${names === '' ? 'none' : names}.`,
  });
};
