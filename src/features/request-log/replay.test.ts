import { describe, expect, it } from 'vitest';

import { replayBody } from './replay.ts';

const HASH = 'a'.repeat(64);

describe('replayBody', () => {
  it('stores nothing, and waits for the answer', () => {
    expect(replayBody({ model: 'm', background: true }, '/v1/responses')).toEqual({
      body: { model: 'm', background: false, store: false },
      changes: [
        '`store` is false: nothing of a replay is stored.',
        '`background` is false: the replay waits for the answer.',
      ],
    });
    expect(replayBody({ model: 'm', store: true }, '/v1/chat/completions').body).toEqual({
      model: 'm',
      store: false,
    });
  });

  it('changes nothing else', () => {
    const body = { model: 'm', messages: [] };
    expect(replayBody(body, '/v1/messages')).toEqual({ body, changes: [] });
    expect(replayBody({ store: false, input: [{ type: 'message' }] }, '/v1/responses').changes).toEqual([]);
  });

  it('leaves out what a capture does not have', () => {
    const sealed = { type: 'reasoning', encrypted_content: `(sealed: 5 characters, sha256 ${HASH})` };
    const { body, changes } = replayBody({ store: false, input: [sealed, 'x'] }, '/v1/responses');
    expect([body, changes.length]).toEqual([{ store: false, input: ['x'] }, 1]);
  });

  it('refuses what cannot be sent as it was, or would change a conversation', () => {
    const cut = { input: [{ image: `(cut: 2000000 characters, sha256 ${HASH})` }] };
    expect(() => replayBody(cut, '/v1/responses')).toThrow('very long text or image');
    expect(() => replayBody({ conversation: 'conv_1' }, '/v1/responses')).toThrow(
      'add its items to a conversation',
    );
  });
});
