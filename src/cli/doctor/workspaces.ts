import { createServer } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

import type { Workspace } from '../../canonical/mcp/workspace.ts';
import { GatewayError } from '../../canonical/failure/failure.ts';
import { openCodexBinary } from '../../codex/binary.ts';
import { prepareHomes } from '../../codex/home/prepare-home.ts';
import type { Config } from '../../config/schema.ts';
import type { CommandResult } from '../../features/agents/run/commands.ts';
import { openAgentWorkers, type AgentWorkers } from '../../features/agents/run/workers.ts';
import { createLogger } from '../../observe/log.ts';
import { ok, problem, warning, type Check, type Finding } from './finding.ts';

/** Tries the sandbox of each workspace with a command, without a model. */

type Environment = Readonly<Record<string, string | undefined>>;

export interface WorkspaceTrials {
  readonly checks: readonly Check[];
  close(): Promise<void>;
}

const CHECK_MS = 60_000;
const COMMAND_MS = 20_000;
/** No model is asked. */
const NO_MODEL = 'http://127.0.0.1:9/v1';

export const openWorkspaceTrials = async (
  config: Config,
  environment: Environment,
): Promise<WorkspaceTrials> => {
  const { state, workspaces, worker, secretPaths } = config;
  const homes = await prepareHomes({
    stateDir: state.dir,
    binary: await openCodexBinary(config.codex.binary),
    environment: { ...environment, CODEX_HOME: config.upstream.codexHome ?? undefined },
  });
  const workers = await openAgentWorkers({
    homes,
    stateDir: state.dir,
    secretPaths,
    workspaces,
    gatewayUrl: NO_MODEL,
    size: 1,
    hangTimeoutMs: worker.hangTimeoutMs,
    maxRssMb: worker.maxRssMb,
    maxHomeMb: worker.maxHomeMb,
    maxThreads: worker.maxThreads,
    logger: createLogger({ level: 'silent' }),
  });
  const secrets = [state.dir, homes.loginHome, ...secretPaths];
  return {
    checks: workspaces.map((workspace) => ({
      name: 'workspace',
      limitMs: CHECK_MS,
      run: (signal) => tryWorkspace(workers, { workspace, workspaces, secrets }, signal),
    })),
    close: () => workers.drain(0),
  };
};

interface Trial {
  readonly workspace: Workspace;
  readonly workspaces: readonly Workspace[];
  readonly secrets: readonly string[];
}

const tryWorkspace = async (
  workers: AgentWorkers,
  { workspace, workspaces, secrets }: Trial,
  signal: AbortSignal,
): Promise<Finding> => {
  const others = workspaces.filter((other) => other !== workspace).map(({ path }) => path);
  const listener = await countConnections();
  try {
    const result = await workers.exec(
      {
        workspace,
        access: workspace.access,
        command: ['sh', '-c', SCRIPT, workspace.access, String(listener.port), ...secrets, ...others],
        timeoutMs: COMMAND_MS,
        maxOutputBytes: 64 * 1024,
      },
      signal,
    );
    return judgeWorkspace(workspace, result, listener.connections());
  } catch (error) {
    if (error instanceof GatewayError) return problem(error.message, SANDBOX);
    throw error;
  } finally {
    listener.close();
  }
};

/**
 * Says what works, and what can be seen that should not. $0: the access. $1: a port of this machine. Then come paths that
 * cannot be read. An empty folder is as good as none.
 */
const SCRIPT = `
echo starts
ls -A . >/dev/null 2>&1 && echo reads
file=".codex-proxy-doctor-$$"
[ "$0" = write ] && { : >"$file"; } 2>/dev/null && rm "$file" && echo writes
command -v git >/dev/null 2>&1 && echo git
port=$1
shift
for path; do
  if [ -d "$path" ]; then ls -A "$path"; else head -c 1 "$path"; fi 2>/dev/null | grep -q . && echo "sees $path"
done
if command -v bash >/dev/null 2>&1; then timeout 3 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port"
else curl -s -m 3 --noproxy '*' "http://127.0.0.1:$port/"; fi >/dev/null 2>&1
echo done
`;

/** A port of this machine that notices who connects. */
const countConnections = async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    close: () => void server.close(),
  };
};

const SANDBOX =
  'docs/agents.md, "Operating", says what sandboxes need: user namespaces, also for this user and in this container';

/** Pure. What the script of a workspace has found. */
export const judgeWorkspace = (
  { label, path, access, network }: Workspace,
  { stdout, stderr, isTimedOut }: CommandResult,
  connections: number,
): Finding => {
  const said = stdout.split('\n');
  const facts = { label, path, access };
  if (!said.includes('starts')) {
    const why = stderr.trim().split('\n')[0] ?? '';
    return problem(`${label}: its sandbox does not start${why === '' ? '' : `: ${why}`}`, SANDBOX, facts);
  }
  if (isTimedOut || !said.includes('done'))
    return problem(
      `${label}: a command did not end`,
      'run doctor again; a busy machine may be the reason',
      facts,
    );
  const seen = said.filter((line) => line.startsWith('sees ')).map((line) => line.slice('sees '.length));
  const problems = [
    ...(said.includes('reads') ? [] : [`${path} cannot be read`]),
    ...(access === 'read' || said.includes('writes') ? [] : [`${path} cannot be changed`]),
    ...seen.map((secret) => `commands can read ${secret}`),
    ...(connections > 0 ? ['commands reach this machine'] : []),
  ];
  const works = `${label}: ${path}, ${access}, ${networkText(network)}`;
  if (problems.length > 0) {
    const isLeak = seen.length > 0 || connections > 0;
    return problem(
      [works, ...problems].join('\n'),
      isLeak
        ? 'remove the workspace until this is solved, and report it: its sandbox does not hold'
        : `give this user the right to it: its owner and mode are shown by ls -ld ${path}`,
      facts,
    );
  }
  if (network === 'all')
    return warning(`${works}; commands reach this machine too`, 'name the hosts that it needs', facts);
  if (!said.includes('git'))
    return warning(`${works}; commands find no git`, 'install git: most work with code needs it', facts);
  return ok(works, facts);
};

const networkText = (network: Workspace['network']): string => {
  if (network === 'none') return 'no network';
  return network === 'all' ? 'every network' : `network: ${network.join(', ')}`;
};
