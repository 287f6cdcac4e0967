import { describe, expect, it } from 'vitest';

import { functionTool } from '../../../../test/support/turn-request.ts';
import { CallableTools } from '../../../canonical/request/tool.ts';
import { answerCall } from './rpc-turn.ts';

const answersTo = (params: unknown): readonly unknown[] => {
  const said: unknown[] = [];
  const call = { kind: 'tool-call', params, respond: (result: unknown) => void said.push(result) } as const;
  answerCall(call, new CallableTools([functionTool('f')]));
  return said;
};
const unsupported = (text: string): unknown => ({
  contentItems: [{ type: 'inputText', text }],
  success: false,
});

describe('a tool call of the app-server', () => {
  it('is not answered if the client runs the tool', () => {
    expect(answersTo({ tool: 'f' })).toEqual([]);
  });

  it('is answered as unsupported otherwise', () => {
    expect(answersTo({ tool: 'g' })).toEqual([unsupported('unsupported call: "g"')]);
    expect(answersTo({ tool: 'f', namespace: 'n' })).toEqual([unsupported('unsupported call: "f"')]);
    expect(answersTo(null)).toEqual([unsupported('unsupported call: null')]);
  });
});
