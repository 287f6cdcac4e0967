import { feature, type FeatureTables } from '../../compose/feature.ts';
import { deployment } from '../../config/setting-row.ts';
import { wholeNumber } from '../../config/value.ts';
import { counter, gauge, histogram } from '../../observe/metric-row.ts';
import { AGENT_FAILURES } from './failures.ts';
import { AGENT_STORE } from './store/agent-store.ts';

/** Seconds of a run, and of a wait for a person. */
const LONG_SECONDS = [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600] as const;

export const AGENT_TABLES = {
  settings: {
    PROXY_AGENT_WORKERS: deployment({
      at: 'worker.agentCount',
      after: 'PROXY_WORKERS',
      type: wholeNumber(1, 64, 'processes'),
      default: '1',
      description:
        'How many further app-servers share the runs of [agents](agents.md). They start with the first run, and end after ten minutes without one.',
    }),
  },
  failures: AGENT_FAILURES,
  metrics: {
    workspaceRuns: {
      ...counter('proxy_workspace_runs_total', 'Runs of codex in a workspace, by how they ended.', [
        'workspace',
        'outcome',
      ]),
      after: 'limitsUnsettled',
    },
    workspaceRunsActive: gauge('proxy_workspace_runs_active', 'Runs that work in a workspace now.', [
      'workspace',
    ]),
    workspaceRunSeconds: {
      ...histogram('proxy_workspace_run_seconds', 'How long runs took, with their clean-up.'),
      buckets: LONG_SECONDS,
    },
    workspaceCalls: counter('proxy_workspace_calls_total', 'Calls of the tools of codex.', [
      'workspace',
      'tool',
      'outcome',
    ]),
    workspaceApprovals: counter(
      'proxy_workspace_approvals_total',
      'Approvals of calls: `asked`, `approved`, `declined`.',
      ['workspace', 'decision'],
    ),
    workspaceRefusals: counter(
      'proxy_workspace_refusals_total',
      'What codex asked for and did not get: `escalation` (out of the sandbox), `patch`, `other`.',
      ['reason'],
    ),
    workspaceLeftovers: counter(
      'proxy_workspace_leftovers_total',
      'Processes of commands that the last look after a run had to kill.',
    ),
    agentSessions: counter('proxy_agent_sessions_total', 'Sessions of agents that were created.'),
    agentTurns: counter(
      'proxy_agent_turns_total',
      'Turns of sessions that have ended: `completed`, `failed`, `cancelled`.',
      ['end'],
    ),
    agentTurnsOpen: gauge(
      'proxy_agent_turns_open',
      'Turns of sessions on this server that are `queued`, `in_progress` or `waiting` for their client.',
      ['status'],
    ),
    agentCommands: counter('proxy_agent_commands_total', 'Commands in sessions: `completed`, `failed`.', [
      'status',
    ]),
    agentApprovals: counter(
      'proxy_agent_approvals_total',
      'Answers to approvals in sessions: `approved`, `declined`, `late`.',
      ['answer'],
    ),
    agentApprovalSeconds: {
      ...histogram('proxy_agent_approval_seconds', 'How long sessions waited for such an answer.'),
      buckets: LONG_SECONDS,
    },
    agentOutputBytes: counter('proxy_agent_output_bytes_total', 'Bytes that commands in sessions printed.'),
  },
  routes: {
    'GET /v1/codex/workspaces': {
      after: 'GET /v1/codex/mcp',
      access: 'key',
      scopes: ['infer', 'read'],
      about: 'The [workspaces](agents.md) of the key.',
    },
    'POST /v1/codex/workspaces/:name/exec': {
      access: 'key',
      scopes: ['infer'],
      about: 'Runs a program in the sandbox of a workspace, without a model: `{"command": ["ls"]}`.',
    },
    'GET /v1/codex/workspaces/:name/files': {
      access: 'key',
      scopes: ['infer'],
      about: 'Finds files of a workspace by parts of their names: `?query=`.',
    },
  },
} as const satisfies FeatureTables;

/** Agents: codex works in workspaces with its own tools. */
export const agents = feature('agents', AGENT_TABLES, {
  store: AGENT_STORE,
  open: async (...args) => (await import('./open.ts')).openAgents(...args),
});
