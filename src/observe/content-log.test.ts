import { describe, expect, it } from 'vitest';
import { messageTold } from '../../test/support/item-events.ts';
import { turnRequest } from '../../test/support/turn-request.ts';
import { contentLog } from './content-log.ts';
import { createLogger } from './log.ts';

const request = turnRequest({
  instructions: 'Be kind.',
  items: [
    {
      kind: 'message',
      role: 'user',
      parts: [
        { kind: 'text', text: 'hello' },
        { kind: 'image', url: 'x'.repeat(5000) },
      ],
    },
  ],
});

describe('contentLog', () => {
  it('logs the request and every item of the answer, truncated', () => {
    const written: string[] = [];
    const logger = createLogger({ level: 'info', destination: { write: (line) => void written.push(line) } });
    const observer = contentLog(logger, 'req_1', [request], 1);
    observer.onStart?.();
    for (const event of messageTold('m', 'hi')) observer.onEvent?.(event);
    expect(written.map((line): unknown => JSON.parse(line))).toEqual([
      {
        level: 'info',
        time: expect.any(String),
        requestId: 'req_1',
        content: {
          instructions: 'Be kind.',
          items: [
            {
              kind: 'message',
              role: 'user',
              parts: [
                { kind: 'text', text: 'hello' },
                { kind: 'image', url: `${'x'.repeat(4000)}… (5000 characters)` },
              ],
            },
          ],
        },
        msg: 'turn asked',
      },
      {
        level: 'info',
        time: expect.any(String),
        requestId: 'req_1',
        content: {
          kind: 'message',
          id: 'm',
          role: 'assistant',
          parts: [{ kind: 'text', text: 'hi' }],
          status: 'completed',
        },
        msg: 'turn answered',
      },
    ]);
  });
});
