import { setTimeout as sleep } from 'node:timers/promises';

import { startModelServer, type Script } from '../src/demo/model-server.ts';
import { encodeEvent } from '../src/demo/connection.ts';
import { objectsIn, textIn, type JsonObject } from '../src/kit/json/json.ts';
import { startChatgptBackend } from './chatgpt-backend.ts';
import {
  CALL_FIRST,
  CALL_TOOL,
  DELTA,
  MCP_LABEL,
  RUN_COMMAND,
  SLOWLY,
  TOOL_NAME,
  type ModelMessage,
  type ModelQuestion,
} from './workload.ts';

/**
 * The scripted model in its own process, so that it shares no event loop with what is measured. Answers are prepared
 * before the first request: only sending them costs time.
 */

const MESSAGE = { id: 'msg_bench', type: 'message', role: 'assistant' };
const PLACE = { item_id: MESSAGE.id, output_index: 0, content_index: 0 };
const PIECE_CHARS = 64 * 1024;
/** Between two events of a slow answer. */
const PAUSE_MS = 10;

/** An answer with this many deltas, split into pieces of one write each. */
const answerOf = (count: number): readonly string[] => {
  const text = DELTA.repeat(count);
  const content = [{ type: 'output_text', text, annotations: [] }];
  const usage = { input_tokens: 10, output_tokens: count, total_tokens: 10 + count };
  const response = { id: 'resp_bench', object: 'response', status: 'completed', output: [], usage };
  const events = [
    { type: 'response.created', response: { id: 'resp_bench', object: 'response', status: 'in_progress' } },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...MESSAGE, status: 'in_progress', content: [] },
    },
    ...Array.from({ length: count }, () => ({ type: 'response.output_text.delta', ...PLACE, delta: DELTA })),
    { type: 'response.output_text.done', ...PLACE, text },
    {
      type: 'response.output_item.done',
      output_index: 0,
      item: { ...MESSAGE, status: 'completed', content },
    },
    { type: 'response.completed', response },
  ];
  const pieces: string[] = [];
  let piece = '';
  for (const [index, event] of events.entries()) {
    piece += encodeEvent({ ...event, sequence_number: index });
    if (piece.length >= PIECE_CHARS) {
      pieces.push(piece);
      piece = '';
    }
  }
  return [...pieces, piece];
};

const answers = new Map<number, readonly string[]>();

const prepared = (count: number): readonly string[] => {
  const known = answers.get(count) ?? answerOf(count);
  answers.set(count, known);
  return known;
};

/** An answer that is a single call. */
const callOf = (call: JsonObject): readonly string[] => {
  const item = { id: 'fc_bench', type: 'function_call', call_id: 'call_bench', ...call };
  const response = { id: 'resp_call', object: 'response', output: [] };
  const usage = { input_tokens: 10, output_tokens: 10, total_tokens: 20 };
  const events = [
    { type: 'response.created', response: { ...response, status: 'in_progress' } },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...item, status: 'in_progress', arguments: '' },
    },
    { type: 'response.output_item.done', output_index: 0, item: { ...item, status: 'completed' } },
    { type: 'response.completed', response: { ...response, status: 'completed', usage } },
  ];
  return events.map((event, index) => encodeEvent({ ...event, sequence_number: index }));
};

/** A call of the MCP server, and one of the client. */
const MCP_CALL = callOf({ namespace: `mcp__${MCP_LABEL}`, name: 'add', arguments: '{"a":2,"b":3}' });
const TOOL_CALL = callOf({ name: TOOL_NAME, arguments: '{"city":"Paris"}' });

/** The prompt is the first message of a user. It contains the answer's length ("… 16 deltas") and whether a call comes first. */
const promptIn = (body: JsonObject): string =>
  JSON.stringify(objectsIn(body, 'input').find((item) => item['role'] === 'user'));

/** The command of an agent's newest message, if it was not run yet. */
const commandIn = (body: JsonObject): string | null => {
  const items = objectsIn(body, 'input');
  const at = items.findLastIndex((item) => item['role'] === 'user');
  const [part] = objectsIn(items[at] ?? {}, 'content');
  const text = textIn(part ?? {}, 'text');
  const hasRun = items.slice(at).some((item) => item['type'] === 'function_call_output');
  return hasRun || !text.startsWith(RUN_COMMAND) ? null : text.slice(RUN_COMMAND.length);
};

const answerTo = (body: JsonObject): readonly string[] => {
  const command = commandIn(body);
  if (command !== null)
    return callOf({
      name: 'exec_command',
      arguments: JSON.stringify({ cmd: command, yield_time_ms: 30_000 }),
    });
  const prompt = promptIn(body);
  const hasCalled = (): boolean =>
    objectsIn(body, 'input').some((item) => item['type'] === 'function_call_output');
  if (prompt.includes(CALL_FIRST) && !hasCalled()) return MCP_CALL;
  if (prompt.includes(CALL_TOOL)) return TOOL_CALL;
  return prepared(Number(/(\d+) deltas/u.exec(prompt)?.[1] ?? 1));
};

let last: JsonObject | null = null;

const script: Script = async ({ body }, connection) => {
  last = body;
  const isSlow = promptIn(body).includes(SLOWLY);
  const pieces = isSlow ? answerTo(body).flatMap((piece) => piece.split(/(?<=\n\n)/u)) : answerTo(body);
  for (const piece of pieces) {
    connection.write(piece);
    await connection.flush();
    if (isSlow) await sleep(PAUSE_MS);
  }
};

const say = (message: ModelMessage): void => void process.send?.(message);

const model = await startModelServer({ script });
process.on('message', (question: ModelQuestion) => {
  if (question.kind === 'prepare') {
    prepared(question.deltas);
    say({ kind: 'prepared' });
  } else say({ kind: 'last-request', body: last });
});
process.on('disconnect', () => process.exit(0));
const chatgptBaseUrl = await startChatgptBackend(answerTo);
say({ kind: 'listening', baseUrl: model.baseUrl, chatgptBaseUrl });
