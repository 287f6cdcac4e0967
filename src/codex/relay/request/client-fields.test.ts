import { describe, expect, it } from 'vitest';

import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import type { Json, JsonObject } from '../../../kit/json/json.ts';
import { turnRequest } from '../../../../test/support/turn-request.ts';
import { setClientFields } from './client-fields.ts';

/** As codex sends it where the client said nothing. */
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

describe('setOwnFields', () => {
  it('takes out what codex filled in', () => {
    expect(set({})).toEqual({ model: 'gpt-5.5' });
  });

  it('says the effort of the client, which codex takes for another', () => {
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

  it('keeps tools, the choice among them, and a choice that the client made without any', () => {
    const tools = [{ type: 'function', name: 'f' }];
    expect(set({}, { tools })).toEqual({ model: 'gpt-5.5', tools, tool_choice: 'auto' });
    expect(set({ toolChoice: { mode: 'none' } }, { tool_choice: 'none' })).toEqual({
      model: 'gpt-5.5',
      tool_choice: 'none',
    });
  });

  it('says how many calls may come, unless the backend has refused to hear it', () => {
    expect(set({ parallelToolCalls: true }, { parallel_tool_calls: false })).toMatchObject({
      parallel_tool_calls: true,
    });
    expect(set({ parallelToolCalls: false }, {}, true)).toEqual({ model: 'gpt-5.5' });
  });
});
