import { randomBytes } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import path from 'node:path';

import { gatewayError, GatewayError } from '../../../canonical/failure/failure.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import type { AppServer } from '../../../codex/app-server.ts';
import { RpcError } from '../../../codex/rpc/errors.ts';
import { rpcFailure } from '../../../engine/attempt/app-server-turn.ts';
import { unlessAborted } from '../../../kit/async/wait.ts';
import { killLeftovers, processTime } from './clean-up.ts';
import { profileName, type LeasedWorker } from './pool.ts';
import { commandVariables, lies, type AgentPlaceRequest } from './profile.ts';
import { isHidden, unavailable } from './workspace-folder.ts';

/** Commands and searches in a workspace without a model. */

export interface WorkspaceCommand extends AgentPlaceRequest {
  readonly workspace: Workspace;
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** Where it starts, relative to the workspace. Default: there. */
  readonly folder?: string;
  readonly timeoutMs: number;
  /** Of each stream; the rest is dropped. */
  readonly maxOutputBytes: number;
}

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** It was ended because it took too long. */
  readonly isTimedOut: boolean;
}

export interface FoundFile {
  /** Relative to the workspace. */
  readonly path: string;
  readonly isFolder: boolean;
  readonly score: number;
}

/** codex ends the program by itself, should ours not reach it. */
const GRACE_MS = 5_000;

/** `home`: the folder of this command alone, by whose name its processes are found. */
export const runCommand = async (
  leased: LeasedWorker,
  { workspace, access, command, folder = '.', timeoutMs, maxOutputBytes }: WorkspaceCommand,
  { home, signal }: { readonly home: string; readonly signal: AbortSignal },
): Promise<CommandResult> => {
  const since = await processTime();
  signal.throwIfAborted();
  let isTimedOut = false;
  let isRunning = true;
  const killing: Promise<unknown>[] = [];
  const killAll = async (): Promise<void> => {
    // On a busy machine it may start only later.
    for (;;) {
      await killLeftovers(path.basename(home), { since });
      if (!isRunning) return;
    }
  };
  const kill = (): void => void killing.push(killAll());
  const timer = setTimeout(() => {
    isTimedOut = true;
    kill();
  }, timeoutMs);
  signal.addEventListener('abort', kill, { once: true });
  const running = leased.appServer.request(
    'command/exec',
    {
      // The profile is about the folder in which codex starts it, so that is always the workspace.
      command: ['/bin/sh', '-c', 'cd -- "$0" && exec "$@"', folderIn(workspace, folder), ...command],
      cwd: workspace.path,
      permissionProfile: profileName(workspace, access),
      env: commandVariables(workspace, { ...leased.sandboxOf(workspace), runFolder: home }),
      timeoutMs: timeoutMs + GRACE_MS,
      outputBytesCap: maxOutputBytes,
    },
    { timeoutMs: timeoutMs + 2 * GRACE_MS },
  );
  const [ended] = await Promise.allSettled([running]);
  isRunning = false;
  clearTimeout(timer);
  signal.removeEventListener('abort', kill);
  await Promise.all(killing);
  signal.throwIfAborted();
  if (ended.status === 'rejected') {
    const error: unknown = ended.reason;
    throw error instanceof RpcError ? unavailable(workspace, error.message, error) : lostBy(error);
  }
  const { exitCode, stdout, stderr } = ended.value;
  return { exitCode, stdout, stderr, isTimedOut };
};

const lostBy = (cause: unknown): GatewayError => new GatewayError(rpcFailure(cause), { cause });

/** Throws a `GatewayError` for a folder outside. The sandbox would not show it. */
const folderIn = (workspace: Workspace, folder: string): string => {
  const found = path.resolve(workspace.path, folder);
  if (lies(found, workspace.path)) return found;
  throw gatewayError('invalid_value', {
    message: "Invalid 'cwd': the folder of a command must lie in the workspace.",
    param: 'cwd',
  });
};

const SEARCH_MS = 10_000;

/**
 * codex searches outside of its sandbox and follows links, which may lead to the whole disk: the search ends in time, and
 * what it has found behind a link, or is hidden, is left out.
 */
export const searchFiles = async (
  appServer: AppServer,
  { workspace, query }: { readonly workspace: Workspace; readonly query: string },
  signal: AbortSignal,
): Promise<readonly FoundFile[]> => {
  const cancellationToken = randomBytes(8).toString('hex');
  const search = (text: string) => {
    const params = { query: text, roots: [workspace.path], cancellationToken };
    return appServer.request('fuzzyFileSearch', params, { timeoutMs: SEARCH_MS });
  };
  try {
    const { files } = await unlessAborted(search(query), signal);
    const shown = await Promise.all(
      files.map(async (found) => {
        const file = path.join(workspace.path, found.path);
        return (await realpath(file).catch(() => null)) === file && !isHidden(workspace, found.path);
      }),
    );
    return files
      .filter((_, index) => shown[index])
      .map(({ path: file, match_type: kind, score }) => ({
        path: file,
        isFolder: kind === 'directory',
        score,
      }));
  } catch (error) {
    // Another search with the same token ends the first; one for nothing is over at once.
    search('').catch(() => {});
    signal.throwIfAborted();
    throw lostBy(error);
  }
};
