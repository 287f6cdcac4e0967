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
    'POST /v1/agents/sessions': {
      after: 'GET /v1/chat/completions/:id/messages',
      access: 'key',
      about:
        'Creates a session of an agent: `environment` (a workspace, or none), `agent`, `agent_id`, `input`, `metadata`. With `stream: true` it answers with the events of the first turn. See [agents](agents.md).',
    },
    'GET /v1/agents/sessions': {
      access: 'key',
      about:
        'The sessions of the key. `agent_id`, `metadata[key]=value`, `limit`, `order` (default `desc`), `after`.',
    },
    'GET /v1/agents/sessions/:id': {
      access: 'key',
      about: 'A session.',
    },
    'POST /v1/agents/sessions/:id': {
      access: 'key',
      about: 'Changes `agent` (model, effort, service tier, tools) from the next turn on, and `metadata`.',
    },
    'DELETE /v1/agents/sessions/:id': {
      access: 'key',
      about:
        'Deletes a session with its turns and items. Files in the workspace stay. 409 while a turn has not ended.',
    },
    'POST /v1/agents/sessions/:id/events': {
      access: 'key',
      about:
        'Posts input: messages, a cancellation, results of functions. `Idempotency-Key` makes it safe to send again.',
    },
    'GET /v1/agents/sessions/:id/events': {
      access: 'key',
      about:
        'The events of a session as they happen: first its present state. `after` or `Last-Event-ID` gives those after an event, for ten minutes after the end of its turn.',
    },
    'GET /v1/agents/sessions/:id/items': {
      access: 'key',
      about: 'The items of a session. `limit`, `order` (default `desc`), `after`.',
    },
    'GET /v1/agents/sessions/:id/turns': {
      access: 'key',
      about: 'The turns of a session. `limit`, `order` (default `desc`), `after`.',
    },
    'GET /v1/agents/sessions/:id/turns/:turn_id': {
      access: 'key',
      about: 'A turn: its status, error and usage.',
    },
    'GET /v1/agents/sessions/:id/turns/:turn_id/items': {
      access: 'key',
      about: 'The items of a turn. `limit`, `order` (default `desc`), `after`.',
    },
    'GET /v1/agents/sessions/:id/subagents': {
      access: 'key',
      about: 'An empty list: sessions have no subagents.',
    },
    'GET /v1/agents/sessions/:id/subagents/*': {
      access: 'key',
      about: '404.',
    },
    'GET /v1/agents/sessions/:id/artifacts': {
      access: 'key',
      about: 'An empty list: files are in the workspace.',
    },
    'GET /v1/agents/sessions/:id/artifacts/*': {
      access: 'key',
      about: '404.',
    },
    'DELETE /v1/agents/sessions/:id/artifacts/*': {
      access: 'key',
      about: '404.',
    },
    'GET /v1/agents/sessions/:id/traces': {
      access: 'key',
      about: 'An empty list.',
    },
    'GET /v1/agents/environments': {
      access: 'key',
      about: 'The workspaces that the key may use, as environments. `limit`, `order`, `after`.',
    },
    'POST /v1/agents/environments': {
      access: 'key',
      about: '404: the operator names the workspaces.',
    },
    'POST /v1/agents/environments/templates/*': {
      access: 'key',
      about: '404, for the same reason.',
    },
    'GET /v1/agents/environments/templates/*': {
      access: 'key',
      about: '404, for the same reason.',
    },
    'DELETE /v1/agents/environments/templates/*': {
      access: 'key',
      about: '404, for the same reason.',
    },
    'GET /v1/agents/environments/:id': {
      access: 'key',
      about: 'One of them: whether its folder is there.',
    },
    'POST /v1/agents/environments/:id/files': {
      access: 'key',
      about: '404: files are in the folder of the workspace.',
    },
    'GET /v1/agents/environments/:id/files': {
      access: 'key',
      about: '404, for the same reason.',
    },
    'POST /v1/agents/automations/*': {
      access: 'key',
      about: '404: there are no automations.',
    },
    'GET /v1/agents/automations/*': {
      access: 'key',
      about: '404, for the same reason.',
    },
    'DELETE /v1/agents/automations/*': {
      access: 'key',
      about: '404, for the same reason.',
    },
    'POST /v1/agents': {
      access: 'key',
      about:
        'Saves an agent: `model`, `instructions`, `tools`, `reasoning`, `text`, `service_tier`, `name`, `metadata`.',
    },
    'GET /v1/agents': {
      access: 'key',
      about: 'The saved agents of the key. `limit`, `order` (default `desc`), `after`.',
    },
    'GET /v1/agents/:id': {
      access: 'key',
      about: 'A saved agent.',
    },
    'POST /v1/agents/:id': {
      access: 'key',
      about: 'Changes a saved agent: given fields replace, null resets. Sessions keep their copy.',
    },
    'DELETE /v1/agents/:id': {
      access: 'key',
      about: 'Deletes a saved agent. Its sessions stay.',
    },
    'POST /v1/vaults/*': {
      access: 'key',
      about: '404: there are no vaults.',
    },
    'GET /v1/vaults/*': {
      access: 'key',
      about: '404, for the same reason.',
    },
    'DELETE /v1/vaults/*': {
      access: 'key',
      about: '404, for the same reason.',
    },
    'POST /mcp': {
      after: 'POST /v1/codex/reviews',
      access: 'key',
      about:
        'The tools of this server for MCP clients, over Streamable HTTP: `codex`, `codex-reply`, `ask`, `review`. See [agents](agents.md#mcp).',
    },
    'GET /mcp': {
      access: 'key',
      about: 'The stream of an MCP session, for messages that belong to no call.',
    },
    'DELETE /mcp': { access: 'key', about: 'Ends an MCP session.' },
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
