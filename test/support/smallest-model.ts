import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SmallestModel {
  readonly baseUrl: string;
  readonly requests: unknown[];
  /** The credentials of each request. */
  readonly keys: (string | undefined)[];
  close(): void;
}
const ANSWER = [
  { type: 'response.created', response: { id: 'resp_1' } },
  {
    type: 'response.output_item.added',
    output_index: 0,
    item: { type: 'message', role: 'assistant', id: 'msg_1', content: [] },
  },
  { type: 'response.output_text.delta', delta: 'ok' },
  {
    type: 'response.output_item.done',
    output_index: 0,
    item: { type: 'message', role: 'assistant', id: 'msg_1', content: [{ type: 'output_text', text: 'ok' }] },
  },
  {
    type: 'response.completed',
    response: { id: 'resp_1', usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } },
  },
]
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join('');
/** Says "ok" to everything, and shares no code with the scripted model. */
export const startSmallestModel = async (): Promise<SmallestModel> => {
  const requests: unknown[] = [];
  const keys: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      keys.push(request.headers.authorization);
      requests.push(JSON.parse(Buffer.concat(chunks).toString()));
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(ANSWER);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    keys,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
};
