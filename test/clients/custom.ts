import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import { itemsOf, textOf } from './rounds.ts';

/** A model that writes SQL for a custom tool, reads the rows, and repeats them. */
export const asksForRows: Script = ({ body }, connection) => {
  const shown = itemsOf(body).find(({ type }) => type === 'custom_tool_call_output');
  return answer(
    connection,
    shown === undefined
      ? [{ call: { tool: 'custom', name: 'run_sql', arguments: SQL, callId: 'call_sql' } }]
      : [{ text: `Rows: ${textOf(shown['output'])}.` }],
  );
};

/** Not JSON, with characters that JSON would escape. */
const SQL = 'SELECT "name"\nFROM cities;';
export const ROWS = 'Rows: Paris, Oslo.';

/** The tool, as every client of these tests runs it. */
export const runSql = (input: string): string => (input === SQL ? 'Paris, Oslo' : `no such query: ${input}`);
