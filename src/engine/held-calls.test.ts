import { describe, expect, it } from 'vitest';

import { HeldCalls } from './held-calls.ts';
import { functionTool } from '../../test/support/turn-request.ts';
import { CallableTools } from '../canonical/tool.ts';

const setUp = () => {
  const said: string[] = [];
  const calls = new HeldCalls(new CallableTools([functionTool('f')]));
  const ask = (params: unknown, method = 'item/tool/call'): void =>
    calls.take({
      kind: 'request',
      method,
      params,
      respond: (result) => said.push(JSON.stringify(result)),
      reject: (message) => said.push(message),
    });
  return { said, calls, ask };
};
const answered = (text: string): string =>
  JSON.stringify({ contentItems: [{ type: 'inputText', text }], success: false });

describe('calls that the app-server waits for', () => {
  it('wait, and are let go once', () => {
    const { said, calls, ask } = setUp();
    ask({ tool: 'f' });
    ask({ tool: 'f' });
    expect(said).toEqual([]);
    calls.letGo();
    calls.letGo();
    expect(said).toEqual([answered('aborted'), answered('aborted')]);
  });

  it('do not wait behind the end of their answer', () => {
    const { said, calls, ask } = setUp();
    calls.letGo();
    ask({ tool: 'f' });
    expect(said).toEqual([answered('aborted')]);
  });

  it('are only those of the client', () => {
    const { said, ask } = setUp();
    ask({ tool: 'g' });
    ask(null);
    ask({ tool: 'f' }, 'item/other');
    expect(said).toEqual([
      answered('unsupported call: "g"'),
      answered('unsupported call: null'),
      'not supported',
    ]);
  });
});
