import { describe, expect, it } from 'vitest';

import { DONE } from '../../apis/sse.ts';
import { ResponseStream } from './messages.ts';

const open = (streamId: string | null = null) => {
  const sent: unknown[] = [];
  const state = { isFull: false, waits: 0 };
  const gone = new AbortController();
  const writer = {
    send: (message: string | Uint8Array) => void sent.push(JSON.parse(Buffer.from(message).toString())),
    get isFull() {
      return state.isFull;
    },
    async drained() {
      state.waits += 1;
    },
  };
  return { stream: new ResponseStream(writer, streamId, gone.signal), sent, state, gone };
};

const frame = (type: string, number: number, more: object = {}) => ({
  event: type,
  data: { type, sequence_number: number, ...more },
});

describe('ResponseStream', () => {
  it('numbers what it writes, and leaves out the error and the end of a stream', () => {
    const { stream, sent } = open('main');
    expect(stream.frame(frame('response.created', 0), { 'x-a': '1' })).toBeNull();
    void stream.frame(frame('response.in_progress', 1), {});
    void stream.event({ type: 'response.steer.accepted', sequence_number: 0 });
    void stream.frame(frame('error', 2), {});
    void stream.frame({ ...frame('response.failed', 3), note: 'x-proxy-usage: counted' }, {});
    void stream.frame({ event: 'done', data: DONE }, {});
    expect(sent).toEqual([
      { type: 'response.created', sequence_number: 0, headers: { 'x-a': '1' }, stream_id: 'main' },
      { type: 'response.in_progress', sequence_number: 1, stream_id: 'main' },
      { type: 'response.steer.accepted', sequence_number: 2, stream_id: 'main' },
      {
        type: 'response.failed',
        sequence_number: 3,
        headers: { 'x-proxy-usage': 'counted' },
        stream_id: 'main',
      },
    ]);
  });

  it('waits for a client that is behind', async () => {
    const { stream, state } = open();
    state.isFull = true;
    await stream.frame(frame('response.created', 0), {});
    expect(state.waits).toBe(1);
  });

  it('keeps the order of a long event and those after it', async () => {
    const { stream, sent } = open();
    const text = 'x'.repeat(200_000);
    void stream.frame(frame('response.created', 0, { text }), {});
    void stream.event({ type: 'response.steer.accepted', sequence_number: 0 });
    const last = stream.event({ type: 'response.steer.failed', sequence_number: 0 });
    expect(sent).toEqual([]);
    await last;
    expect(sent).toEqual([
      { type: 'response.created', sequence_number: 0, text },
      { type: 'response.steer.accepted', sequence_number: 1 },
      { type: 'response.steer.failed', sequence_number: 2 },
    ]);
  });

  it('writes nothing for a client that has left', async () => {
    const { stream, sent, gone } = open();
    const long = stream.frame(frame('response.created', 0, { text: 'x'.repeat(200_000) }), {});
    gone.abort();
    await long;
    void stream.event({ type: 'response.in_progress', sequence_number: 1 });
    expect(sent).toEqual([]);
  });
});
