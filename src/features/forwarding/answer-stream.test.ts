import { PassThrough } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { IdleTimer } from '../../kit/async/wait.ts';
import { answerStream } from './answer-stream.ts';

const open = (idleTimeoutMs = 60_000) => {
  const body = new PassThrough();
  const aborted = new AbortController();
  const ends: unknown[] = [];
  const idleTimer = new IdleTimer(idleTimeoutMs, () => aborted.abort(new Error('idle')));
  const stream = answerStream(body, {
    idleTimer,
    idleTimeoutMs,
    signal: aborted.signal,
    onEnd: (error) => ends.push(error),
  });
  return { body, aborted, ends, reader: stream.getReader() };
};

describe('answerStream', () => {
  it('ends once with the body', async () => {
    const { body, ends, reader } = open();
    body.end('tea');
    expect(await reader.read()).toEqual({ done: false, value: Buffer.from('tea') });
    expect([await reader.read(), ends]).toEqual([{ done: true, value: undefined }, [null]]);
    await reader.cancel();
    expect(ends).toEqual([null]);
  });

  it('ends when it is cancelled before anything was read', async () => {
    const { body, ends, reader } = open();
    body.write('tea');
    await reader.cancel();
    expect([ends, body.destroyed]).toEqual([[null], true]);
  });

  it('fails with the error of the body', async () => {
    const { body, ends, reader } = open();
    const cut = new Error('cut');
    body.destroy(cut);
    await expect(reader.read()).rejects.toBe(cut);
    expect(ends).toEqual([cut]);
  });

  it('fails with an error that came before anything was read', async () => {
    const { body, ends, reader } = open();
    const cut = new Error('cut');
    body.destroy(cut);
    await new Promise((resolve) => {
      body.once('close', resolve);
    });
    await expect(reader.read()).rejects.toBe(cut);
    expect(ends).toEqual([cut]);
  });

  it('fails when it is aborted, also while it is not read', async () => {
    const { body, aborted, ends, reader } = open();
    const reason = new Error('shutdown');
    aborted.abort(reason);
    expect([ends, body.destroyed]).toEqual([[reason], true]);
    await expect(reader.read()).rejects.toBe(reason);
  });

  it('counts only the time in which its reader waits', async () => {
    const { body, ends, reader } = open(20);
    body.write('tea');
    await new Promise((resolve) => {
      setTimeout(resolve, 60);
    });
    expect([await reader.read(), ends]).toEqual([{ done: false, value: Buffer.from('tea') }, []]);
    await expect(reader.read()).rejects.toThrow('idle');
  });
});
