import { row } from '../../canonical/failure/catalogue-row.ts';
import { featureErrors, type FeatureFailures } from '../../canonical/failure/failure.ts';

/** Errors of workspaces and of the sessions of agents. The SDK of OpenAI retries 409 unless a header says otherwise. */
export const AGENT_FAILURES = {
  approval_already_used: row(
    400,
    'This approval was already used: the call may have run.',
    'an approval of a call that was approved before; nothing runs again',
    { after: 'thread_not_found' },
  ),
  unknown_workspace: row(
    400,
    'There is no such workspace.',
    'the workspace does not exist, or the key may not use it; the message names those that it may use',
  ),
  unknown_agent: row(
    404,
    'This agent was not found.',
    'the agent is unknown, deleted, or belongs to another key',
  ),
  unknown_session: row(
    404,
    'This session was not found.',
    'the session is unknown, deleted, expired, or belongs to another key',
  ),
  unknown_turn: row(404, 'This turn was not found.', 'the session has no such turn'),
  unknown_environment: row(
    404,
    'This environment was not found.',
    'the environment does not exist, or the key may not use its workspace',
  ),
  unknown_subagent: row(404, 'This subagent was not found.', 'always: sessions have no subagents'),
  unknown_artifact: row(404, 'This artifact was not found.', 'always: sessions have no artifacts'),
  session_busy: row(
    409,
    'This session has a turn that has not ended. Cancel it first.',
    'deleting a session while a turn waits or runs',
    { final: true },
  ),
  idempotency_key_reused: row(
    409,
    'This Idempotency-Key was used for another request.',
    'the same `Idempotency-Key` with another body, within a day',
    { final: true },
  ),
  workspace_busy: row(
    429,
    'This workspace is in use. Please try again later.',
    'as many runs as its `runs` allows are working in the workspace',
    { source: 'server', after: 'background_limit' },
  ),
  agent_queue_full: row(
    429,
    'Too many turns are waiting for this workspace. Please try again later.',
    '`maxQueuedTurns` turns of sessions are waiting for the workspace',
    { source: 'server' },
  ),
  session_limit: row(
    429,
    'This key has too many sessions: delete some.',
    'the key has `maxSessions` stored sessions',
    { final: true, source: 'key' },
  ),
} as const satisfies FeatureFailures;

/** Makes an error of agents. */
export const agentError = featureErrors(AGENT_FAILURES);
