import { describe, expect, it } from 'vitest';

import { gatewayError } from '../../../canonical/failure/failure.ts';
import type { AgentSessionRow } from '../store/port.ts';
import { DEFAULT_AGENT } from './read-agent.ts';
import { SessionDraft, type DraftRules } from './session-draft.ts';
import { NEW_STATE } from './session-state.ts';
import { SessionStep, type SessionStepDeps } from './session-step.ts';

let minted = 0;
const rules: DraftRules = {
  clock: { now: () => 0 },
  ids: { mint: (prefix) => `${prefix}_${(minted += 1)}` },
  ttlMs: 1_000,
  actionTimeoutMs: 1_000,
};

const rowAfter = (row: AgentSessionRow, draw: (draft: SessionDraft) => void): AgentSessionRow => {
  const draft = new SessionDraft(row, rules);
  draw(draft);
  return { ...row, ...draft.change({}), rev: row.rev + 1 };
};

const claimed = (): AgentSessionRow => {
  const empty: AgentSessionRow = {
    id: 'asess_1',
    owner: 'a',
    agentId: 'agent_1',
    workspace: '',
    phase: 'idle',
    rev: 0,
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
  const row = rowAfter(empty, (draft) => void draft.post([[{ type: 'input_text', text: 'Hi' }]]));
  return { ...row, phase: 'running', queuedAt: null };
};

/** Runs a step that fails at once. `between`: what happens to the session before its end is written. */
const runStep = async (between: (row: AgentSessionRow) => AgentSessionRow) => {
  let row = claimed();
  const changes = {
    change: async (
      _owner: string,
      _id: string,
      draw: (draft: SessionDraft, before: AgentSessionRow) => unknown,
    ) => {
      const draft = new SessionDraft(row, rules);
      if (draw(draft, row) === undefined) return null;
      const after = { ...row, ...draft.change({}), rev: row.rev + 1 };
      row = row.rev === 1 ? between(after) : after;
      return { draft, row: after };
    },
  };
  const deps = {
    changes,
    ambient: rules,
    turnTimeoutMs: 1_000,
    bodies: {
      open: () => {
        throw gatewayError('server_overloaded');
      },
    },
    onError: () => undefined,
  };
  const ran = await new SessionStep(row, null, deps as unknown as SessionStepDeps).run();
  return { outcome: ran.outcome, isWritten: ran.row !== null, row };
};

describe('a step of a turn', () => {
  it('writes how it has ended', async () => {
    const { outcome, isWritten, row } = await runStep((after) => after);
    expect({ outcome, isWritten, phase: row.phase }).toEqual({
      outcome: 'failed',
      isWritten: true,
      phase: 'idle',
    });
  });

  it('leaves the turn alone when its next step has begun', async () => {
    const { isWritten, row } = await runStep((after) => rowAfter(after, (draft) => draft.start()));
    expect({ isWritten, phase: row.phase }).toEqual({ isWritten: false, phase: 'running' });
  });
});
