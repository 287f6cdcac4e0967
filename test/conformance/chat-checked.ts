import OpenAI from 'openai';
import { Agent } from 'undici';
import { expect } from 'vitest';

import type { TestProxy } from '../support/proxy.ts';
import { openaiSchema, validateChatChunk, validateChatCompletion } from '../support/schema.ts';
import { eventsOf, readSse } from '../support/sse.ts';
import { collect } from '../support/turn-events.ts';

interface Seen {
  readonly path: string;
  readonly status: number;
  readonly isStream: boolean;
  readonly headers: Headers;
  text: string;
}

export interface CheckedChat {
  readonly openai: OpenAI;
  /** The newest answer as it came over the wire. */
  lastText(): string;
  lastHeader(name: string): string | null;
  lastChunks(): Promise<readonly Record<string, unknown>[]>;
  /** Fails with what OpenAI's schema says against the chat answers since the last call. */
  check(): Promise<void>;
  /** Lets the connections go: an unused one would keep a server from closing for a minute. */
  close(): Promise<void>;
}

/** OpenAI's SDK over a fetch that keeps a copy of every answer, to hold it against OpenAI's schema. */
export const checkedChat = (proxy: TestProxy): CheckedChat => {
  const seen: Seen[] = [];
  let checked = 0;
  const dispatcher = new Agent();
  const copyingFetch: typeof fetch = async (url, init) => {
    const options: object = { ...init, dispatcher };
    const response = await fetch(url, options);
    const one: Seen = {
      path: new URL(response.url).pathname,
      status: response.status,
      isStream: response.headers.get('content-type')?.startsWith('text/event-stream') ?? false,
      headers: response.headers,
      text: '',
    };
    seen.push(one);
    if (response.body === null) return response;
    const decoder = new TextDecoder();
    const copy = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        one.text += decoder.decode(chunk, { stream: true });
        controller.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(copy), response);
  };
  const last = (): Seen => {
    const one = seen.at(-1);
    if (one === undefined) throw new Error('nothing was asked yet');
    return one;
  };
  return {
    openai: new OpenAI({
      baseURL: `${proxy.url}/v1`,
      apiKey: proxy.key,
      maxRetries: 0,
      fetch: copyingFetch,
    }),
    lastText: () => last().text,
    lastHeader: (name) => last().headers.get(name),
    lastChunks: () => chunksOf(last()),
    async check() {
      const fresh = seen.slice(checked).filter((one) => one.path === '/v1/chat/completions');
      checked = seen.length;
      expect((await Promise.all(fresh.map(complaintsAbout))).flat()).toEqual([]);
    },
    close: () => dispatcher.destroy(),
  };
};

const chunksOf = async (one: Seen): Promise<readonly Record<string, unknown>[]> =>
  eventsOf(await collect(readSse(one.text)));

const complaintsAbout = async (one: Seen): Promise<readonly string[]> => {
  if (one.isStream) {
    const chunks = (await chunksOf(one)).filter((chunk) => !('error' in chunk));
    return chunks.flatMap((chunk) => validateChatChunk(chunk));
  }
  const body: unknown = JSON.parse(one.text);
  return one.status === 200
    ? validateChatCompletion(body)
    : (openaiSchema?.validate('ErrorResponse', body) ?? []);
};
