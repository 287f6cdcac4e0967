import { describe, expect, it } from 'vitest';

import type { AgentSessionRow, AgentSessionStore, SessionRefusal } from '../store/port.ts';
import { agentError } from '../failures.ts';
import { DEFAULT_AGENT } from './read-agent.ts';
import { SessionChanges } from './session-changes.ts';
import { NEW_STATE } from './session-state.ts';

const ROW: AgentSessionRow = {
  id: 'asess_1',
  owner: 'a',
  agentId: 'agent_1',
  workspace: '',
  phase: 'idle',
  rev: 1,
  nextEvent: 1,
  nextItem: 0,
  createdAt: 0,
  lastActiveAt: 0,
  queuedAt: null,
  deadlineAt: null,
  metadata: {},
  settings: JSON.stringify({
    agent: { id: 'agent_1', ...DEFAULT_AGENT, model: 'm' },
    environment: { type: 'none' },
    access: null,
  }),
  state: JSON.stringify(NEW_STATE),
};

const KEY = { key: 'k', body: 'digest', expiresAt: 1_000 };

/** Changes of a session whose store answers like this. */
const changesWith = (answer: SessionRefusal, isKeyUsed: boolean): SessionChanges => {
  const store: Pick<AgentSessionStore, 'find' | 'change' | 'inputOf'> = {
    find: async () => ROW,
    change: async () => answer,
    inputOf: async () => (isKeyUsed ? KEY.body : null),
  };
  return new SessionChanges(
    store as AgentSessionStore,
    {
      clock: { now: () => 0 },
      ids: { mint: (prefix) => `${prefix}_1` },
      ttlMs: 1_000,
      actionTimeoutMs: 1_000,
    },
    { onChanged() {}, onEnded() {}, onDecision() {} },
  );
};

const refuse = (): never => {
  throw agentError('session_busy');
};

describe('a request whose twin was faster', () => {
  it.each(['conflict', 'full'] as const)('changes nothing, and is not refused: %s', async (answer) => {
    const changes = changesWith(answer, true);
    expect(await changes.change('a', 'asess_1', () => true, { inputKey: KEY })).toBe(null);
  });

  it('is not refused for what its twin has done', async () => {
    expect(await changesWith('conflict', true).change('a', 'asess_1', refuse, { inputKey: KEY })).toBe(null);
  });
});

describe('a request without a twin', () => {
  it('is refused', async () => {
    const options = { inputKey: KEY };
    await expect(changesWith('full', false).change('a', 'asess_1', () => true, options)).rejects.toThrow(
      'Too many turns',
    );
    await expect(changesWith('conflict', false).change('a', 'asess_1', refuse, options)).rejects.toThrow(
      'has not ended',
    );
    await expect(changesWith('conflict', true).change('a', 'asess_1', refuse)).rejects.toThrow(
      'has not ended',
    );
  });
});
