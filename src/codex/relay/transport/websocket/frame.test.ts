import { describe, expect, it } from 'vitest';

import { buildFrame, type SocketMessage, frameType, isInternal, toSse } from './frame.ts';

describe('buildFrame', () => {
  const NEVER = new AbortController().signal;
  const ADDED = { 'x-codex-turn-state': 'state', start: '1' };

  const read = ({ parts, bytes }: SocketMessage): unknown => {
    const joined = Buffer.concat(parts);
    expect(joined.length).toBe(bytes);
    return JSON.parse(joined.toString('utf8'));
  };
  const framed = async (body: object): Promise<unknown> =>
    read(await buildFrame(Buffer.from(JSON.stringify(body)), ADDED, NEVER));

  it('is the body with a type and more metadata', async () => {
    const body = { model: 'm', input: [{ text: 'ä "client_metadata":{' }], store: false };
    expect(await framed({ ...body, client_metadata: { own: 'yes', start: '0' }, stream: true })).toEqual({
      type: 'response.create',
      ...body,
      client_metadata: { own: 'yes', ...ADDED },
      stream: true,
    });
  });

  it('gets metadata if it has none', async () => {
    const nothing = [{ model: 'm' }, { model: 'm', client_metadata: null }];
    for (const body of nothing)
      expect(await framed(body)).toEqual({ type: 'response.create', model: 'm', client_metadata: ADDED });
  });

  it('is not confused by the same name within a tool', async () => {
    const tools = [{ parameters: { properties: { client_metadata: { type: 'object' } } } }];
    const expected = { type: 'response.create', model: 'm', tools };
    expect(await framed({ model: 'm', client_metadata: { a: 1 }, tools })).toEqual({
      ...expected,
      client_metadata: { a: 1, ...ADDED },
    });
    expect(await framed({ model: 'm', tools })).toEqual({ ...expected, client_metadata: ADDED });
  });

  it('finds metadata that is far from the end', async () => {
    const input = 'x'.repeat(100_000);
    expect(await framed({ client_metadata: { a: 1 }, input })).toEqual({
      type: 'response.create',
      client_metadata: { a: 1, ...ADDED },
      input,
    });
  });

  it('leaves the bytes of the conversation as they are', async () => {
    const body = Buffer.from('{"n":1.0,"s":"\\u00e4","client_metadata":{}}');
    const frame = await buildFrame(body, { a: 'b' }, NEVER);
    expect(Buffer.concat(frame.parts).toString('utf8')).toBe(
      '{"type":"response.create","n":1.0,"s":"\\u00e4","client_metadata":{"a":"b"}}',
    );
  });
});

describe('frameType', () => {
  it('reads the type of a message wherever it is', () => {
    const typeOf = (text: string): string | null => frameType(Buffer.from(text));
    expect(typeOf('{"type":"response.created"}')).toBe('response.created');
    expect(typeOf(' { "type" : "error"}')).toBe('error');
    expect(typeOf('{"sequence_number":1,"type":"response.completed"}')).toBe('response.completed');
    for (const none of ['{}', '[]', 'no json', '{"type":1}', `{"a":"${'x'.repeat(70_000)}","type":"b"}`])
      expect(typeOf(none)).toBe(null);
  });

  it('knows the messages that stay here', () => {
    const internal = [
      'codex.rate_limits',
      'codex.response.metadata',
      'response.metadata',
      'responsesapi.websocket_timing',
    ];
    expect(internal.filter((type) => !isInternal(type))).toEqual([]);
    expect(['response.created', 'error', 'codex', null].filter(isInternal)).toEqual([]);
  });

  it('writes a message as an event of one line', () => {
    expect(toSse('a.b', Buffer.from('{"type":"a.b"}')).toString()).toBe(
      'event: a.b\ndata: {"type":"a.b"}\n\n',
    );
    expect(toSse(null, Buffer.from('{\n"a":\r\n1}')).toString()).toBe('data: { "a":  1}\n\n');
  });
});
