import { endToEnd } from '../end-to-end-headers.ts';
import { getText, type TextAnswer } from '../get-text.ts';
import { notFound, startLoopback } from '../loopback.ts';

export type ListedAnswer = TextAnswer | { readonly reason: string };

export interface ModelsListener {
  /** Configured as codex's provider. The path contains a secret. */
  readonly baseUrl: string;
  /** The answer to the request for models; null if codex did not ask. */
  answer(): ListedAnswer | null;
  close(): Promise<void>;
}

/** The same timeout as codex's own. */
const TIMEOUT_MS = 5_000;
/** Each model includes its prompts. */
const MAX_BYTES = 16 * 1024 * 1024;

/** A proxy between codex and its backend for one request: passes the answer on and records it. */
export const startListener = async (target: string): Promise<ModelsListener> => {
  let received: ListedAnswer | null = null;
  const loopback = await startLoopback({
    async serve(path, incoming, outgoing) {
      if (incoming.method !== 'GET' || !path.startsWith('models')) {
        notFound(outgoing);
        return;
      }
      received = await ask(`${target}/${path}`, endToEnd(incoming.headers));
      const [status, text] = 'reason' in received ? [502, ''] : [received.status, received.text];
      outgoing.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(text);
    },
    onError: () => {},
  });
  return { baseUrl: loopback.origin, answer: () => received, close: () => loopback.close() };
};

const ask = async (url: string, headers: Record<string, string | string[]>): Promise<ListedAnswer> => {
  try {
    return await getText(url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS), maxBytes: MAX_BYTES });
  } catch (error) {
    return { reason: error instanceof Error ? error.message : 'no answer' };
  }
};
