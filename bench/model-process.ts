import { startModelServer, type Script } from '../src/demo/model-server.ts';
import { encodeEvent } from '../src/demo/connection.ts';
import type { JsonObject } from '../src/kit/json.ts';
import { startChatgptBackend } from './chatgpt-backend.ts';
import { DELTA, type ModelMessage, type ModelQuestion } from './workload.ts';

/**
 * The scripted model in a process of its own, so that it shares no event loop with anything that is
 * measured. Its answers are made before the first request: only sending them costs time.
 */

const MESSAGE = { id: 'msg_bench', type: 'message', role: 'assistant' };
const PLACE = { item_id: MESSAGE.id, output_index: 0, content_index: 0 };
const PIECE_CHARS = 64 * 1024;

/** A whole answer of so many deltas, cut into pieces that are one write each. */
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

/** The prompt says how long the answer is: "… 16 deltas". */
const countIn = (body: JsonObject): number =>
  Number(/(\d+) deltas/u.exec(JSON.stringify(body['input']))?.[1] ?? 1);

let last: JsonObject | null = null;

const script: Script = async ({ body }, connection) => {
  last = body;
  for (const piece of prepared(countIn(body))) {
    connection.write(piece);
    await connection.flush();
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
const chatgptBaseUrl = await startChatgptBackend((body) => prepared(countIn(body)));
say({ kind: 'listening', baseUrl: model.baseUrl, chatgptBaseUrl });
