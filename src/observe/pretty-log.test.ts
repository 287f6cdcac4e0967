import { describe, expect, it } from 'vitest';

import { createLogger } from './log.ts';
import { createPrettyLine } from './pretty-log.ts';

const logged = (write: (logger: ReturnType<typeof createLogger>) => void, colour = false): string => {
  const pretty = createPrettyLine({ colour });
  let text = '';
  write(
    createLogger({
      level: 'info',
      destination: {
        write: (line) => {
          text += pretty(line);
        },
      },
    }),
  );
  return text.replaceAll(/\d\d:\d\d:\d\d/g, '12:00:00');
};

const REQUEST = {
  requestId: 'req_1',
  method: 'POST',
  route: '/v1/responses',
  status: 200,
  durationMs: 1_240,
  model: 'codex-5',
  stream: true,
  client: { family: 'generic', tier: 'default', reasons: [] },
  inputTokens: 812,
  outputTokens: 64,
  errorCode: null,
};

describe('createPrettyLine', () => {
  it('shows a request in one short line', () => {
    expect(logged((logger) => logger.info(REQUEST, 'request'))).toBe(
      '[12:00:00] INFO: POST /v1/responses 200 in 1.2 s, codex-5, stream, 812 + 64 tokens\n',
    );
  });

  it('adds the code and the request id of a failure', () => {
    const failed = {
      ...REQUEST,
      status: 429,
      stream: null,
      inputTokens: null,
      errorCode: 'rate_limit_exceeded',
    };
    expect(logged((logger) => logger.info(failed, 'request'))).toBe(
      '[12:00:00] INFO: POST /v1/responses 429 in 1.2 s, codex-5, rate_limit_exceeded, req_1\n',
    );
  });

  it('keeps the fields of other lines', () => {
    expect(logged((logger) => logger.warn({ lines: 3 }, 'log lines were dropped'))).toBe(
      '[12:00:00] WARN: log lines were dropped {"lines":3}\n',
    );
  });

  it('shows the stack of an error', () => {
    const text = logged((logger) => logger.error({ err: new Error('broken') }, 'request failed'));
    expect(text).toMatch(/^\[12:00:00\] ERROR: request failed [^]*"message": "broken"[^]*at /);
  });

  it('escapes control characters and line breaks of clients', () => {
    const model = '\u001b[2Jx\n[12:00:00] INFO: forged';
    expect(logged((logger) => logger.info({ ...REQUEST, model }, 'request'))).toBe(
      String.raw`[12:00:00] INFO: POST /v1/responses 200 in 1.2 s, \u001b[2Jx\n[12:00:00] INFO: forged, stream, 812 + 64 tokens` +
        '\n',
    );
  });

  it('colours the status if colour is on', () => {
    expect(logged((logger) => logger.info(REQUEST, 'request'), true)).toContain(' \u001b[32m200\u001b[');
  });

  it('passes other text through', () => {
    expect(createPrettyLine({ colour: false })('plain text\n')).toBe('plain text\n');
  });
});
