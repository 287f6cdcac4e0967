import { afterAll, afterEach, beforeAll, expect } from 'vitest';

import { hello } from '../support/scripts.ts';
import { startChatGptProxy, violationsOf, type ChatGptProxy, type ChatGptProxyOptions } from './proxy.ts';

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
