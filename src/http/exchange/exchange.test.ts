import { describe, expect, it } from 'vitest';

import { ALL_SCOPES } from '../guards/scopes.ts';
import { openExchange } from './exchange.ts';

const open = (client = new AbortController()) => {
  const ends: unknown[] = [];
  const notes: unknown[] = [];
  const exchange = openExchange({
    distributed: null,
    requestId: 'req_1',
    startedAt: 5,
    address: '',
    isLocal: () => false,
    clientSignal: client.signal,
    onNote: (facts) => notes.push(facts),
    onEnd: (facts) => ends.push(facts),
  });
  return { exchange, client, ends, notes };
};

describe('openExchange', () => {
  it('ends with its notes when the handler has returned', () => {
    const { exchange, ends } = open();
    exchange.note({ model: 'a', stream: true });
    exchange.note({ model: 'b', status: 200 });
    expect(ends).toEqual([]);
    exchange.returned();
    expect(ends).toEqual([{ model: 'b', stream: true, status: 200 }]);
  });

  it('a held answer ends once, when released', () => {
    const { exchange, ends } = open();
    const release = exchange.hold();
    exchange.returned();
    expect(ends).toEqual([]);
    exchange.note({ status: 200 });
    release();
    release();
    expect(ends).toEqual([{ status: 200 }]);
  });

  it('reports its end to every listener, also to late ones', () => {
    const { exchange, ends } = open();
    const told: string[] = [];
    exchange.atEnd(() => told.push('first'));
    exchange.atEnd(() => told.push(`second, before ${ends.length === 0 ? 'the line' : 'nothing'}`));
    const release = exchange.hold();
    exchange.returned();
    expect(told).toEqual([]);
    release();
    release();
    exchange.atEnd(() => told.push('late'));
    expect(told).toEqual(['first', 'second, before the line', 'late']);
  });

  it('is aborted with its client, for the same reason', () => {
    const { exchange, client } = open();
    const reason = new Error('gone');
    client.abort(reason);
    expect([exchange.signal.aborted, exchange.signal.reason]).toEqual([true, reason]);
  });

  it('is aborted from the start if the client has disconnected', () => {
    const client = new AbortController();
    client.abort();
    expect(open(client).exchange.signal.aborted).toBe(true);
  });

  it('is not aborted by a disconnect after the end', () => {
    const { exchange, client } = open();
    exchange.returned();
    client.abort();
    expect(exchange.signal.aborted).toBe(false);
  });

  it('can be aborted by the server, with its reason', () => {
    const { exchange, client } = open();
    const reason = new Error('shutting down');
    exchange.abort(reason);
    expect([exchange.signal.reason, client.signal.aborted]).toEqual([reason, false]);
  });

  it('knows its caller once authenticated', () => {
    const { exchange, notes } = open();
    const caller = { keyId: 'key_1', scopes: ALL_SCOPES };
    expect([exchange.caller(), exchange.identity()]).toEqual(['', null]);
    exchange.admit(caller);
    expect([exchange.caller(), exchange.identity(), notes]).toEqual(['key_1', caller, [{ keyId: 'key_1' }]]);
  });
});
