import { execFileSync } from 'node:child_process';
import { runInNewContext } from 'node:vm';

import { describe, expect, it } from 'vitest';

import { openCalls, outputOf, userMessage } from './items.ts';
import { problemsOf, requestBody, type Settings } from './request.ts';
import { snippet } from './snippets.ts';

const PLAIN: Settings = { model: ' gpt-5.5 ', effort: '', instructions: ' ', tools: '', schema: '' };

describe('requestBody', () => {
  it('has only what was chosen', () => {
    expect(requestBody(PLAIN, [userMessage('Hi', [])])).toEqual({
      model: 'gpt-5.5',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
      reasoning: { summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      store: false,
      stream: true,
    });
  });

  it('has tools, a schema, instructions and the effort', () => {
    const settings = {
      model: 'm',
      effort: 'high',
      instructions: 'Be brief.',
      tools: '[{"type":"function"}]',
      schema: '{"type":"object"}',
    };
    expect(requestBody(settings, [])).toEqual({
      model: 'm',
      instructions: 'Be brief.',
      input: [],
      tools: [{ type: 'function' }],
      text: { format: { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true } },
      reasoning: { effort: 'high', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      store: false,
      stream: true,
    });
  });

  it('names what has to be corrected', () => {
    expect(problemsOf(PLAIN)).toEqual({});
    expect(problemsOf({ ...PLAIN, model: '', tools: '{}', schema: '[' })).toEqual({
      model: 'Choose a model.',
      tools: 'This must be a JSON array of tools.',
      schema: expect.stringContaining('JSON'),
    });
  });
});

describe('openCalls', () => {
  it('are the calls without an output', () => {
    const items = [
      { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
      { type: 'custom_tool_call', call_id: 'b', name: 'g', input: 'x' },
      { type: 'function_call_output', call_id: 'a', output: '1' },
    ];
    const [call, ...more] = openCalls(items);
    expect([call, more]).toEqual([
      { callId: 'b', name: 'g', input: 'x', outputType: 'custom_tool_call_output' },
      [],
    ]);
    expect(call === undefined ? null : outputOf(call, 'done')).toEqual({
      type: 'custom_tool_call_output',
      call_id: 'b',
      output: 'done',
    });
  });
});

describe('snippet', () => {
  const body = requestBody({ ...PLAIN, instructions: `It's "$HOME" \\ \`x\`\nno` }, [
    userMessage('Grüße – 日本 </script>', ['data:image/png;base64,AA==']),
  ]);
  const url = 'http://127.0.0.1:1/v1';

  it('for curl sends exactly the request', () => {
    // A function in the place of curl prints what it would send.
    const script = `curl() { printf '%s\\0' "$@"; }\n${snippet('curl', url, body)}`;
    const sent = execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8' }).split('\0');
    expect(sent.slice(0, 2)).toEqual([`${url}/responses`, '--no-buffer']);
    expect(JSON.parse(sent[sent.indexOf('-d') + 1] ?? '')).toEqual(body);
    expect(sent).toContain('Authorization: Bearer YOUR_API_KEY');
  });

  it('for Node sends exactly the request', async () => {
    const code = snippet('Node', url, body).replace("import OpenAI from 'openai';", '');
    const calls: unknown[] = [];
    class OpenAI {
      readonly responses = {
        create: (sent: unknown) => {
          calls.push(sent);
          return [];
        },
      };
      constructor(options: unknown) {
        calls.push(options);
      }
    }
    await runInNewContext(`(async () => {${code}})()`, { OpenAI });
    expect(calls).toEqual([{ baseURL: url, apiKey: 'YOUR_API_KEY' }, body]);
  });

  it('for Python has the same values in its own words', () => {
    expect(
      snippet('Python', url, { model: 'm', input: [], store: false, tools: [{ a: null, b: [true, 1.5] }] }),
    ).toBe(`from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:1/v1", api_key="YOUR_API_KEY")

stream = client.responses.create(
    model="m",
    input=[],
    store=False,
    tools=[
        {
            "a": None,
            "b": [
                True,
                1.5,
            ],
        },
    ],
)
for event in stream:
    if event.type == "response.output_text.delta":
        print(event.delta, end="", flush=True)`);
  });
});
