import { inflateSync } from 'node:zlib';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { validateStreamEvent } from '../../test/support/schema.ts';
import { collectSse, eventsOf } from '../../test/support/sse.ts';
import type { JsonObject } from '../kit/json/json.ts';
import { cutToTokens, demoScript, demoSteps, DEMO_IMAGE, demoImage } from './demo-script.ts';
import { shrinkRequest } from './shrink-request.ts';
import { startModelServer, type ModelServer } from './model-server.ts';

const SIGN_IN = 'Sign in.';
const user = (text: string, ...more: readonly JsonObject[]): JsonObject => ({
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text }, ...more],
});
const weather = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a city',
  strict: false,
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const image = { type: 'input_image', image_url: 'data:image/png;base64,AA==' };
const steps = (body: JsonObject) => demoSteps(body, SIGN_IN);
const HELLO =
  'Hello! I am the demo model of codex-app-server-proxy: everything works, only the thinking is missing.';

const callItem = (id: string) => ({
  type: 'function_call',
  call_id: id,
  name: 'get_weather',
  arguments: '{}',
});
const output = (id: string, said: JsonObject[] | string) => ({
  type: 'function_call_output',
  call_id: id,
  output: said,
});
const reasoningOf = (body: JsonObject) => steps({ input: 'hi', ...body }).slice(0, -1);

describe('demoSteps', () => {
  it('quotes the newest message and says how to sign in', () => {
    expect(steps({ input: [user('first'), user('How are you?')] })).toEqual([
      { text: `${HELLO} You wrote: “How are you?”. Sign in.` },
    ]);
    expect(steps({ input: `long ${'x'.repeat(300)}` })).toEqual([
      { text: `${HELLO} You wrote: “long ${'x'.repeat(154)}…”. Sign in.` },
    ]);
  });

  it('chooses a tool by the text of the user only', () => {
    const said =
      '<current_datetime>2026-11-02</current_datetime>\n\nHello there\n<reminder>weather</reminder>';
    const tools = [weather, { ...weather, name: 'current_datetime', description: 'Current datetime' }];
    const ask = { input: [user(said), user('<system-reminder>The weather tool exists.</system-reminder>')] };
    expect(steps(shrinkRequest({ ...ask, tools }))).toEqual([
      { text: `${HELLO} You wrote: “Hello there”. Sign in.` },
    ]);
  });

  it('accepts an input without text', () => {
    expect([steps({}), steps({ input: [] }), steps({ input: [user('')] })]).toEqual(
      Array.from({ length: 3 }, () => [{ text: `${HELLO} Sign in.` }]),
    );
  });

  it('counts images', () => {
    expect([steps({ input: [user('look', image)] }), steps({ input: [user('look', image, image)] })]).toEqual(
      [
        [{ text: `${HELLO} You wrote: “look”. I received one image with it. Sign in.` }],
        [{ text: `${HELLO} You wrote: “look”. I received 2 images with it. Sign in.` }],
      ],
    );
  });

  it('answers a schema with a matching value', () => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' }, sunny: { type: 'boolean' } },
      required: ['city', 'sunny'],
      additionalProperties: false,
    };
    const text = { format: { type: 'json_schema', name: 'x', strict: true, schema } };
    expect(steps({ input: 'Is it sunny in Rome?', text })).toEqual([
      { text: '{"city":"Rome","sunny":true}', chunkSize: 8 },
    ]);
    expect(steps({ input: 'hi', text: { format: { type: 'json_object' } } })).toEqual([
      { text: '{"answer":"demo","question":"hi"}', chunkSize: 8 },
    ]);
  });

  it('calls a matching tool from any place of declaration', () => {
    const call = { name: 'get_weather', arguments: { city: 'Paris' } };
    const input = [user('What is the weather in Paris?')];
    const tools = {
      type: 'additional_tools',
      tools: [{ type: 'namespace', name: 'functions', tools: [weather] }],
    };
    expect(steps({ input, tools: [weather] })).toEqual([{ call, chunkSize: 8 }]);
    expect(steps({ input: [tools, ...input] })).toEqual([
      { call: { ...call, namespace: 'functions' }, chunkSize: 8 },
    ]);
  });

  it('calls a custom tool on demand', () => {
    const code = { type: 'custom', name: 'code', description: 'Runs code.' };
    const ask = (tool_choice: JsonObject | string) =>
      steps({ input: [user('Run code')], tools: [code], tool_choice });
    const called = [{ call: { name: 'code', tool: 'custom', arguments: 'Run code' }, chunkSize: 8 }];
    expect(ask('required')).toEqual(called);
    expect(ask({ type: 'custom', name: 'code' })).toEqual(called);
    expect(ask('auto')).toEqual([{ text: `${HELLO} You wrote: “Run code”. Sign in.` }]);
  });

  it('follows tool_choice', () => {
    const ask = (tool_choice: JsonObject | string, text = 'Hello weather') =>
      steps({ input: [user(text)], tools: [weather], tool_choice });
    const called = (city: string) => [{ call: { name: 'get_weather', arguments: { city } }, chunkSize: 8 }];
    const plain = [{ text: `${HELLO} You wrote: “Hello weather”. Sign in.` }];
    expect({
      required: ask('required', 'Hello'),
      named: ask({ type: 'function', name: 'get_weather' }, 'Hello'),
      auto: ask('auto'),
      none: ask('none'),
      allowed: ask({
        type: 'allowed_tools',
        mode: 'auto',
        tools: [{ type: 'function', name: 'get_weather' }],
      }),
      notAllowed: ask({ type: 'allowed_tools', mode: 'required', tools: [] }),
    }).toEqual({
      required: called('demo'),
      named: called('demo'),
      auto: called('weather'),
      none: plain,
      allowed: called('weather'),
      notAllowed: plain,
    });
  });

  it('quotes tool outputs', () => {
    const input = [
      user('weather?'),
      callItem('a'),
      callItem('b'),
      output('a', '21 degrees'),
      output('b', [{ type: 'input_text', text: 'rain' }]),
    ];
    expect(steps({ input, tools: [weather] })).toEqual([
      {
        text: 'get_weather said: “21 degrees”\nget_weather said: “rain”\n\nThat is all the demo model can tell you about it. Sign in.',
      },
    ]);
  });

  it('writes reasoning if requested', () => {
    const include = ['reasoning.encrypted_content'];
    const encrypted = 'ZGVtbyByZWFzb25pbmc6IEkgY2FuIGFuc3dlciB0aGlzIGF0IG9uY2Uu';
    const summary = ['**Reading the message**\n\nI can answer this at once.'];
    expect({
      no: reasoningOf({ include }),
      none: reasoningOf({ include, reasoning: { summary: 'none', effort: null } }),
      summary: reasoningOf({ reasoning: { summary: 'auto' } }),
      both: reasoningOf({ include, reasoning: { summary: 'auto' } }),
      effort: reasoningOf({ include, reasoning: { effort: 'low' } }),
    }).toEqual({
      no: [],
      none: [],
      summary: [{ reasoning: { summary } }],
      both: [{ reasoning: { summary, encrypted } }],
      effort: [{ reasoning: { summary: [], encrypted } }],
    });
  });
});

describe('cutToTokens', () => {
  it.each([
    ['enough room', 3, [{ text: 'twelve chars' }]],
    ['a text', 2, [{ text: 'twelve c', end: 'incomplete' }, { incomplete: 'max_output_tokens' }]],
    ['nothing left', 0, [{ incomplete: 'max_output_tokens' }]],
  ])('%s', (_name, tokens, expected) => {
    expect(cutToTokens([{ text: 'twelve chars' }], tokens)).toEqual(expected);
  });

  it('cuts calls and reasoning', () => {
    const call = { call: { name: 'f', arguments: { city: 'Paris' } } };
    expect([
      cutToTokens([call], 2),
      cutToTokens([{ reasoning: { summary: ['a long thought'] } }, call], 1),
    ]).toEqual([
      [
        { call: { name: 'f', arguments: '{"city":' }, end: 'incomplete' },
        { incomplete: 'max_output_tokens' },
      ],
      [{ reasoning: { summary: ['a lo'] }, end: 'incomplete' }, { incomplete: 'max_output_tokens' }],
    ]);
  });
});

describe('the demo model on the wire', () => {
  let server: ModelServer;
  beforeAll(async () => {
    server = await startModelServer({ script: demoScript({ deltaDelayMs: 0 }) });
  });
  afterAll(() => server.close());

  const eventsFor = async (body: JsonObject) => {
    const response = await fetch(`${server.baseUrl}/responses`, {
      method: 'POST',
      body: JSON.stringify({ model: 'demo', stream: true, ...body }),
    });
    return eventsOf(await collectSse(response));
  };

  it.each<[string, JsonObject, string]>([
    ['a text', { input: 'hi' }, 'response.completed'],
    ['a call', { input: [user('weather in Oslo')], tools: [weather] }, 'response.completed'],
    [
      'reasoning',
      { input: 'hi', reasoning: { summary: 'auto' }, include: ['reasoning.encrypted_content'] },
      'response.completed',
    ],
    ['a cut text', { input: 'hi', max_output_tokens: 5 }, 'response.incomplete'],
  ])('%s is what OpenAI would send', async (_name, body, last) => {
    const events = await eventsFor(body);
    expect([events.flatMap(validateStreamEvent), events.at(-1)?.['type'], events.length > 5]).toEqual([
      [],
      last,
      true,
    ]);
  });
});

/** The size in the PNG header, and the number of bytes of pixel data. */
const read = (base64: string) => {
  const png = Buffer.from(base64, 'base64');
  const length = png.readUInt32BE(33);
  const rows = inflateSync(png.subarray(41, 41 + length));
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20), bytes: rows.length };
};

describe('demoImage', () => {
  it.each([
    ['1024x1024', 1024, 1024],
    ['1536x1024', 1536, 1024],
    ['256x256', 256, 256],
    ['4096x4096', 4096, 4096],
    ['1x7', 1, 7],
  ])('has the requested size: %s', (size, width, height) => {
    const drawn = demoImage(size);
    expect({ ...read(drawn.base64), size: drawn.size }).toEqual({
      width,
      height,
      size,
      bytes: height * (1 + Math.ceil(width / 8)),
    });
  });

  it.each(['auto', null, '', '0x10', '5000x10', '10x', '99999x99999', '10x10x10'])(
    'has the default size if the requested one is unsupported: %s',
    (size) => {
      expect(demoImage(size)).toBe(DEMO_IMAGE);
      // One of those that OpenAI's schema allows.
      expect(DEMO_IMAGE.size).toBe('1024x1024');
    },
  );
});
