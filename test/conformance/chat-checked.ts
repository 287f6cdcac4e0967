import OpenAI from 'openai';
import { afterAll, afterEach, expect } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import type { TestProxy } from '../support/proxy.ts';
import { validateChatChunk, validateChatCompletion, validateOpenai } from '../support/schema.ts';
import { eventsOf, readSse } from '../support/sse.ts';
import { collect } from '../support/turn-events.ts';
import { watchedFetch, type Seen } from './watched-fetch.ts';

interface CheckedChat {
  readonly openai: OpenAI;
  /** The newest answer, as received. */
  lastText(): string;
  lastHeader(name: string): string | null;
  lastChunks(): Promise<readonly Record<string, unknown>[]>;
  /** Fails if a chat answer since the last call violates OpenAI's schema. */
  check(): Promise<void>;
  /** Closes the connections: an idle one would keep a server from closing for a minute. */
  close(): Promise<void>;
}

/** OpenAI's SDK with a fetch that copies every answer, to validate it against OpenAI's schema. */
const checkedChat = (proxy: TestProxy): CheckedChat => {
  const { seen, close, fetch: watched } = watchedFetch();
  let checked = 0;
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
      fetch: watched,
    }),
    lastText: () => last().text,
    lastHeader: (name) => last().headers.get(name),
    lastChunks: () => chunksOf(last()),
    async check() {
      const fresh = seen.slice(checked).filter((one) => one.path === '/v1/chat/completions');
      checked = seen.length;
      expect((await Promise.all(fresh.map(complaintsAbout))).flat()).toEqual([]);
    },
    close,
  };
};

/** A proxy and a client for all tests of a file; answers are validated after each test. */
export const openCheckedChat = async (
  ...options: Parameters<typeof openProxy>
): Promise<{ readonly proxy: TestProxy; readonly client: CheckedChat }> => {
  const proxy = await openProxy(...options);
  const client = checkedChat(proxy);
  afterAll(() => client.close());
  afterEach(() => client.check());
  return { proxy, client };
};

const chunksOf = async (one: Seen): Promise<readonly Record<string, unknown>[]> =>
  eventsOf(await collect(readSse(one.text)));

/** OpenAI's schema has custom tools in messages but not in chunks. */
const NO_CUSTOM = /\/delta\/tool_calls\/\d+\/type must be equal to one of the allowed values: \["function"\]/;

const complaintsAbout = async (one: Seen): Promise<readonly string[]> => {
  if (one.isStream) {
    const chunks = (await chunksOf(one)).filter((chunk) => !('error' in chunk));
    return chunks
      .flatMap((chunk) => validateChatChunk(chunk))
      .filter((complaint) => !NO_CUSTOM.test(complaint));
  }
  const body: unknown = JSON.parse(one.text);
  return one.status === 200 ? validateChatCompletion(body) : validateOpenai('ErrorResponse', body);
};
