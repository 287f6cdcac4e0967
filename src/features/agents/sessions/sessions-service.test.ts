import { expect, it } from 'vitest';

import type { AgentSessionRow } from '../store/port.ts';
import { DEFAULT_AGENT } from './read-agent.ts';
import { SessionDraft } from './session-draft.ts';
import { NEW_STATE } from './session-state.ts';
import { SessionsService, type SessionsServiceOptions } from './sessions-service.ts';

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

it.each([
  ['turn_1', 'idle'],
  ['turn_2', 'queued'],
])('a cancellation that is meant for %s leaves a session with turn_1 %s', async (onlyTurn, phase) => {
  const draft = new SessionDraft(ROW, {
    clock: { now: () => 0 },
    ids: { mint: (prefix) => `${prefix}_1` },
    ttlMs: 1_000,
    actionTimeoutMs: 1_000,
  });
  draft.post([[{ type: 'input_text', text: 'Hi' }]]);
  const changes = {
    find: async () => ROW,
    change: async (_owner: string, _id: string, draw: (draft: SessionDraft) => unknown) => ({
      result: draw(draft),
      before: ROW,
    }),
  };
  const service = new SessionsService({ changes } as unknown as SessionsServiceOptions);
  const caller = { keyId: 'a', requestId: 'req_1', signal: new AbortController().signal };
  const body = { events: [{ type: 'agent.session.input.cancel' }] };
  await service.input(caller, 'asess_1', body, { onlyTurn });
  expect(draft.phase).toBe(phase);
});
