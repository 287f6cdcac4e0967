import { describe, expect, it } from 'vitest';
import { gatewayError } from '../canonical/failure/failure.ts';
import { createLogger } from './log.ts';
import type { Logger } from './log.ts';

const capture = (level = 'info'): { logger: Logger; lines: () => unknown[]; text: () => string } => {
  const written: string[] = [];
  const logger = createLogger({ level, destination: { write: (line) => void written.push(line) } });
  return {
    logger,
    lines: () => written.map((line): unknown => JSON.parse(line)),
    text: () => written.join(''),
  };
};

const time: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);

describe('createLogger', () => {
  it('writes one JSON object per line, from its level up', () => {
    const { logger, lines, text } = capture('warn');
    logger.info('not this');
    logger.warn({ requestId: 'req_1', inputTokens: 3 }, 'two\nlines');
    logger.error('plain');
    expect(lines()).toEqual([
      { level: 'warn', time, requestId: 'req_1', inputTokens: 3, msg: 'two\nlines' },
      { level: 'error', time, msg: 'plain' },
    ]);
    expect(text().match(/\n/g)).toHaveLength(2);
  });

  it('hides fields with the name of a secret at any depth', () => {
    const { logger, lines } = capture();
    logger.info({
      apiKey: 'hunter2',
      part: 'x',
      headers: { Authorization: 'hunter2', 'x-api-key': 'hunter2', accept: '*/*' },
      auth: { personal_access_token: 'hunter2', agent_identity: 'hunter2', CODEX_ACCESS_TOKEN: 'hunter2' },
      config: [
        { PROXY_API_KEY: 'hunter2', apiKeys: ['hunter2'], password: 'hunter2', refresh_token: 'hunter2' },
      ],
    });
    expect(lines()).toEqual([
      {
        level: 'info',
        time,
        apiKey: '[redacted]',
        part: 'x',
        headers: { Authorization: '[redacted]', 'x-api-key': '[redacted]', accept: '*/*' },
        auth: {
          personal_access_token: '[redacted]',
          agent_identity: '[redacted]',
          CODEX_ACCESS_TOKEN: '[redacted]',
        },
        config: [
          {
            PROXY_API_KEY: '[redacted]',
            apiKeys: '[redacted]',
            password: '[redacted]',
            refresh_token: '[redacted]',
          },
        ],
      },
    ]);
  });

  it('hides what looks like a key anywhere', () => {
    const { logger, lines } = capture();
    logger.info(
      { note: 'Authorization: Bearer hunter2.x', other: 'AgentAssertion eyJhdW50ZXIyMg' },
      'got sk-proxy-abc_DEF-123456, a task-list for https://u:p@h/, at-risk-of-long-words, at-0aB_c-dEf0123456789',
    );
    expect(lines()).toEqual([
      {
        level: 'info',
        time,
        note: 'Authorization: Bearer ***',
        other: 'AgentAssertion ***',
        msg: 'got sk-***, a task-list for https://***@h/, at-risk-of-long-words, at-***',
      },
    ]);
  });

  it('logs errors with their cause, without quoted keys', () => {
    const { logger, lines, text } = capture();
    logger.error(new Error('refused sk-abcdefghij', { cause: gatewayError('invalid_json') }));
    logger.error({ err: new TypeError('odd') }, 'it broke');
    expect(lines()).toEqual([
      {
        level: 'error',
        time,
        err: {
          type: 'Error',
          message: 'refused sk-***',
          stack: expect.stringContaining('Error: refused sk-***'),
          cause: expect.objectContaining({
            type: 'GatewayError',
            failure: expect.objectContaining({ kind: 'invalid_json' }),
          }),
        },
        msg: 'refused sk-***',
      },
      {
        level: 'error',
        time,
        err: { type: 'TypeError', message: 'odd', stack: expect.any(String) },
        msg: 'it broke',
      },
    ]);
    expect(text()).not.toContain('abcdefghij');
  });

  it('handles cyclic values', () => {
    const { logger, text } = capture();
    const loop: Record<string, unknown> = {};
    loop['self'] = loop;
    logger.info({ loop });
    expect(text()).toContain('"[deep]"');
  });

  it('never throws', () => {
    const { logger, lines } = capture();
    const trap = {
      get boom(): never {
        throw new Error('boom');
      },
    };
    logger.info(trap, 'never seen');
    logger.info('next');
    expect(lines()).toMatchObject([{ msg: 'log line that cannot be serialised' }, { msg: 'next' }]);
    createLogger({
      level: 'info',
      destination: {
        write() {
          throw new Error('ENOSPC');
        },
      },
    }).info('x');
  });

  it('hides secrets by value', () => {
    const written: string[] = [];
    const logger = createLogger({
      level: 'info',
      secrets: ['pass"word'],
      destination: { write: (line) => void written.push(line) },
    });
    logger.info({ line: 'refused pass"word here' }, 'pass"word');
    expect(JSON.parse(written.join(''))).toMatchObject({ line: 'refused *** here', msg: '***' });
  });

  it('logs only harmless fields of an error', () => {
    const { logger, text } = capture();
    const parser = Object.assign(new Error('Response does not match the HTTP/1.1 protocol'), {
      code: 'HPE_INVALID_CONSTANT',
      data: "the answer's text",
    });
    logger.error({ err: parser }, 'the relay aborted a request');
    try {
      JSON.parse('oh the answer, and its text');
    } catch (err) {
      logger.error({ err }, 'no JSON');
    }
    expect(text()).toContain('HPE_INVALID_CONSTANT');
    expect(text()).toContain('this is not valid JSON');
    expect(text()).not.toMatch(/answer's|the answer/);
  });
});
