import type { IncomingMessage, ServerResponse } from 'node:http';

import { runSliced } from '../../../kit/async/event-loop.ts';
import { joinSteps } from '../../../kit/json/json-writer.ts';

const MAX_BODY_BYTES = 256 * 1024 * 1024;

/** One for all, because an abort without a reason creates an error with a stack. */
const LEFT = new DOMException('the app-server has disconnected', 'AbortError');

/** Aborted when the app-server disconnects before the answer is complete. */
export const leftSignal = (outgoing: ServerResponse): AbortSignal => {
  const left = new AbortController();
  outgoing.on('close', () => {
    if (!outgoing.writableFinished) left.abort(LEFT);
  });
  return left.signal;
};

/** Null if the app-server has disconnected. */
export const readBody = async (incoming: IncomingMessage, left: AbortSignal): Promise<Buffer | null> => {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_BODY_BYTES) throw new Error('the request of the app-server is too large');
      chunks.push(chunk);
    }
    return chunks.length === 1 && chunks[0] !== undefined
      ? chunks[0]
      : Buffer.from((await runSliced(joinSteps(chunks), left)).buffer);
  } catch (error) {
    if (left.aborted) return null;
    throw error;
  }
};
