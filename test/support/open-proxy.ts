import { afterAll, afterEach } from 'vitest';

import { startProxy, type TestProxy } from './proxy.ts';

type Arguments = Parameters<typeof startProxy>;

/** One proxy for all tests of a file: `const proxy = await openProxy(hello)`. */
export const openProxy = async (...options: Arguments): Promise<TestProxy> => {
  const proxy = await startProxy(...options);
  afterAll(() => proxy.close());
  return proxy;
};

/** For tests with lasting effects or their own settings: each starts proxies that end with it. */
export const freshProxies = (): ((...options: Arguments) => Promise<TestProxy>) => {
  const started: TestProxy[] = [];
  afterEach(async () => {
    for (const proxy of started.splice(0)) await proxy.close();
  });
  return async (...options) => {
    const proxy = await startProxy(...options);
    started.push(proxy);
    return proxy;
  };
};
