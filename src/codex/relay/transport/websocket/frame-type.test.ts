import { expect, it } from 'vitest';

import { frameType, isInternal, toSse } from './frame-type.ts';

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
  expect(toSse('a.b', Buffer.from('{"type":"a.b"}')).toString()).toBe('event: a.b\ndata: {"type":"a.b"}\n\n');
  expect(toSse(null, Buffer.from('{\n"a":\r\n1}')).toString()).toBe('data: { "a":  1}\n\n');
});
