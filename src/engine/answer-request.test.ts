import { describe, expect, it } from 'vitest';

import { functionTool } from '../../test/support/turn-request.ts';
import { CallableTools } from '../canonical/tool.ts';
import { answerRequest } from './answer-request.ts';

const answersTo = (params: unknown, method = 'item/tool/call'): readonly unknown[] => {
  const said: unknown[] = [];
  answerRequest(
    {
      kind: 'request',
      method,
      params,
      respond: (result) => said.push(result),
      reject: (message) => said.push(message),
    },
    new CallableTools([functionTool('f')]),
  );
  return said;
};
const unsupported = (text: string): unknown => ({
  contentItems: [{ type: 'inputText', text }],
  success: false,
});

describe('what the app-server asks while a turn runs', () => {
  it('goes unanswered where the client runs the tool', () => {
    expect(answersTo({ tool: 'f' })).toEqual([]);
  });

  it('is not supported otherwise', () => {
    expect(answersTo({ tool: 'g' })).toEqual([unsupported('unsupported call: "g"')]);
    expect(answersTo({ tool: 'f', namespace: 'n' })).toEqual([unsupported('unsupported call: "f"')]);
    expect(answersTo(null)).toEqual([unsupported('unsupported call: null')]);
    expect(answersTo({ tool: 'f' }, 'item/other')).toEqual(['not supported']);
  });
});
