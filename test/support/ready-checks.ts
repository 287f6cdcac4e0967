import type { TestProxy } from './proxy.ts';
import { until } from './until.ts';

const INVALID = { type: 'json_schema', name: 'a', schema: { type: 'nothing' } };

/**
 * Waits for the thread that checks schemas. A request does not wait for it longer than three seconds: on a busy machine
 * the first one may go unchecked.
 */
export const readyChecks = (proxy: TestProxy): Promise<void> =>
  until(async () => {
    const answer = await proxy.post('/v1/responses', {
      model: 'gpt-5.5',
      input: 'Hi.',
      text: { format: INVALID },
    });
    await answer.text();
    return answer.status === 400;
  });
