import { gatewayError, type GatewayError } from '../../../canonical/failure/failure.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import type { Offers } from '../../../compose/feature.ts';
import type { WorkspaceChanges } from '../../../turns/api.ts';
import type { CommandResult } from '../run/commands.ts';
import type { WorkspaceCommands } from '../run/workers.ts';
import { unavailable } from '../run/workspace-folder.ts';
import type { WorkspaceAccess } from '../workspaces/access.ts';

export interface ChangesDeps {
  readonly access: WorkspaceAccess;
  readonly commands: WorkspaceCommands;
}

/** More than a model can read. */
const MAX_DIFF_BYTES = 1024 * 1024;
const GIT_MS = 60_000;

/** Reads changes in the git repository of a workspace, inside its sandbox. */
export const changesReader =
  ({ access, commands }: ChangesDeps): Offers['readChanges'] =>
  async (keyId, { workspace: name, target }, signal) => {
    const workspace = access.named(keyId, name, 'workspace');
    const run = async (command: readonly string[]): Promise<string> => {
      const result = await commands.exec(
        {
          workspace,
          access: 'read',
          command,
          timeoutMs: GIT_MS,
          maxOutputBytes: MAX_DIFF_BYTES + 1,
        },
        signal,
      );
      return outputOf(workspace, result);
    };
    const diff = await diffOf(target, run);
    if (diff.trim() === '') throw wrong('target', 'There is nothing to review: git finds no changes.');
    return diff;
  };

type RunGit = (command: readonly string[]) => Promise<string>;

/** A repository may be another user's, and its settings may name programs. */
const GIT = [
  'git',
  '--no-pager',
  '--no-optional-locks',
  '-c',
  'safe.directory=*',
  '-c',
  'core.fsmonitor=false',
  '-c',
  'core.quotePath=false',
];
const PLAIN = ['--no-color', '--no-ext-diff', '--no-textconv'];

/** What the client names is only ever an argument. */
const diffOf = async (target: WorkspaceChanges['target'], run: RunGit): Promise<string> => {
  if (target.type === 'uncommittedChanges') return run(['sh', '-c', UNCOMMITTED, ...GIT]);
  if (target.type === 'commit') return run([...GIT, 'show', ...PLAIN, '--end-of-options', target.sha, '--']);
  const base = await run([...GIT, 'merge-base', '--end-of-options', 'HEAD', target.branch]);
  return run([...GIT, 'diff', ...PLAIN, '--end-of-options', base.trim(), '--']);
};

/** $0 and what follows: git with its options. Before the first commit, all that is staged is compared with nothing. */
const UNCOMMITTED = `
base=$("$0" "$@" rev-parse --verify --quiet HEAD) || base=$("$0" "$@" hash-object -t tree /dev/null)
"$0" "$@" diff ${PLAIN.join(' ')} "$base" -- || exit
"$0" "$@" ls-files -z --others --exclude-standard | xargs -0 -r -n 1 "$0" "$@" diff ${PLAIN.join(' ')} --no-index -- /dev/null
exit 0
`;

const outputOf = (workspace: Workspace, { exitCode, stdout, stderr, isTimedOut }: CommandResult): string => {
  if (isTimedOut) throw unavailable(workspace, `git took more than ${GIT_MS / 1000} seconds`);
  if (exitCode !== 0) {
    const said = stderr.trim().split('\n')[0] ?? '';
    throw wrong(
      'workspace',
      `git cannot read these changes: ${said === '' ? `exit code ${exitCode}` : said}`,
    );
  }
  if (Buffer.byteLength(stdout) > MAX_DIFF_BYTES)
    throw wrong('target', 'The changes have more than 1 MiB: review a commit, or send a part as `input`.');
  return stdout;
};

const wrong = (param: string, message: string): GatewayError =>
  gatewayError('invalid_value', { param, message });
