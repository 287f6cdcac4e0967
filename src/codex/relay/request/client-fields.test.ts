import { describe, expect, it } from 'vitest';

import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import type { Json, JsonObject } from '../../../kit/json/json.ts';
import { turnRequest } from '../../../../test/support/turn-request.ts';
import { setClientFields } from './client-fields.ts';

/** As codex sends it for a client that set nothing. */
const FILLED_IN: JsonObject = {
  model: 'gpt-5.5',
  tools: [],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  reasoning: {},
  client_metadata: { turn_id: 't' },
};

const set = (request: Partial<TurnRequest>, on: JsonObject = {}, isWithheld = false): JsonObject => {
  const edited: Record<string, Json | undefined> = { ...FILLED_IN, ...on };
  setClientFields(edited, turnRequest(request), { sets: () => !isWithheld, isWithheld: () => isWithheld });
  return edited;
};

describe('setClientFields', () => {
  it('removes what codex filled in', () => {
    expect(set({})).toEqual({ model: 'gpt-5.5' });
  });

  it("restores the client's effort, which codex replaces", () => {
    const reasoning = {
      effort: 'ultra',
      effortName: 'reasoning.effort',
      summary: 'concise',
      context: null,
    } as const;
    expect(set({ reasoning }, { reasoning: { effort: 'medium' } })).toEqual({
      model: 'gpt-5.5',
      reasoning: { effort: 'ultra', summary: 'concise' },
    });
  });

  it('keeps tools and the choice among them, even without tools', () => {
    const tools = [{ type: 'function', name: 'f' }];
    expect(set({}, { tools })).toEqual({ model: 'gpt-5.5', tools, tool_choice: 'auto' });
    expect(set({ toolChoice: { mode: 'none' } }, { tool_choice: 'none' })).toEqual({
      model: 'gpt-5.5',
      tool_choice: 'none',
    });
  });

  it('sets the limit of calls, unless the backend has refused it', () => {
    expect(set({ parallelToolCalls: true }, { parallel_tool_calls: false })).toMatchObject({
      parallel_tool_calls: true,
    });
    expect(set({ parallelToolCalls: false }, {}, true)).toEqual({ model: 'gpt-5.5' });
  });
});
