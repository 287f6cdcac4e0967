import { afterAll, afterEach, beforeAll, expect } from 'vitest';

import { hello } from '../support/scripts.ts';
import {
  sentBy,
  startChatGptProxy,
  violationsOf,
  type ChatGptProxy,
  type ChatGptProxyOptions,
} from './proxy.ts';

/** One proxy for all tests of a file. After each of them, no request may have broken a rule. */
export const shareProxy = (
  take: (proxy: ChatGptProxy) => void,
  options: Partial<ChatGptProxyOptions> = {},
): void => {
  let proxy: ChatGptProxy;
  beforeAll(async () => {
    proxy = await startChatGptProxy({ script: hello, ...options });
    take(proxy);
  });
  afterEach(() => {
    const broken = violationsOf(proxy.backend);
    proxy.backend.reset();
    expect(broken).toEqual([]);
  });
  afterAll(() => proxy.close());
};

/** For tests with lasting effects: each starts one or several proxies of its own. */
export const freshProxies = (): ((options?: Partial<ChatGptProxyOptions>) => Promise<ChatGptProxy>) => {
  const started: ChatGptProxy[] = [];
  afterEach(async () => {
    const broken = started.flatMap(({ backend }) => violationsOf(backend));
    for (const proxy of started.splice(0)) await proxy.close();
    expect(broken).toEqual([]);
  });
  return async (options = {}) => {
    const proxy = await startChatGptProxy({ script: hello, ...options });
    started.push(proxy);
    return proxy;
  };
};

/** Until requests go over a socket: after a failed one the product waits a second before it dials again. */
export const untilSocket = async (proxy: ChatGptProxy): Promise<void> => {
  const ask = async (): Promise<string | undefined> => {
    await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'Is there a socket?' });
    return sentBy(proxy).at(-1);
  };
  await expect.poll(ask, { timeout: 30_000, interval: 100 }).toBe('websocket');
  proxy.backend.reset();
};
