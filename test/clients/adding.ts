import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import { itemsOf, textOf } from './rounds.ts';

/** A model that adds with the tool of the MCP server `shop`, and repeats its result. */
export const addsUp: Script = ({ body }, connection) => {
  const added = itemsOf(body).find(({ type }) => type === 'function_call_output');
  return answer(
    connection,
    added === undefined
      ? [{ call: { name: 'add', namespace: 'mcp__shop', arguments: { a: 2, b: 3 }, callId: 'call_add' } }]
      : [{ text: `It is ${textOf(added['output'])}.` }],
  );
};

export const SUM = 'It is 5.';
