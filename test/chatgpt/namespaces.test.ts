import { expect, it } from 'vitest';

import { isJsonObject } from '../../src/kit/json.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { shareProxy } from './hooks.ts';
import type { ChatGptProxy } from './proxy.ts';

let proxy: ChatGptProxy;
shareProxy((started) => {
  proxy = started;
});

const WEATHER = { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } };

it.each([false, true])(
  'a namespace that codex puts tools into is not the client’s (stream: %s)',
  async (stream) => {
    const call = { name: 'get_weather', arguments: '{}', callId: 'call_1', namespace: 'functions' };
    proxy.backend.use(inTurn(says([{ call }]), hello));
    const ask = { model: 'gpt-6.1-sol', stream, tools: [WEATHER] };
    const question = { role: 'user', content: 'The weather?' };
    const { json, text } = await proxy.post('/v1/responses', { ...ask, input: [question] });
    const output = Array.isArray(json['output']) ? json['output'].filter(isJsonObject) : [];
    expect(output.at(-1)).toEqual({
      id: expect.any(String),
      type: 'function_call',
      status: 'completed',
      call_id: 'call_1',
      name: 'get_weather',
      arguments: '{}',
    });
    expect(text).not.toContain('namespace');
    const answered = { type: 'function_call_output', call_id: 'call_1', output: 'sunny' };
    const next = await proxy.post('/v1/responses', { ...ask, input: [question, ...output, answered] });
    expect(next.status).toBe(200);
  },
);
