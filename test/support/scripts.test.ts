import { afterEach, describe, expect, it } from 'vitest';
import { startModelServer } from '../../src/demo/model-server.ts';
import type { ModelServer, Script } from '../../src/demo/model-server.ts';
import { validateStreamEvent } from './schema.ts';
import * as scripts from './scripts.ts';
import { eventsOf, readSse } from './sse.ts';
import type { SseFrame } from './sse.ts';

let server: ModelServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

const start = async (script: Script): Promise<ModelServer> => {
  server = await startModelServer({ script, keepRequests: 1 });
  return server;
};

const ask = (target: ModelServer, body: object = {}, signal?: AbortSignal): Promise<Response> =>
  fetch(`${target.baseUrl}/responses`, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', input: 'hi', stream: true, ...body }),
    ...(signal !== undefined && { signal }),
  });

/** Frames until the stream ends or breaks. */
const framesOf = async (response: Response): Promise<{ frames: readonly SseFrame[]; broken: boolean }> => {
  const frames: SseFrame[] = [];
  try {
    if (response.body !== null) for await (const frame of readSse(response.body)) frames.push(frame);
    return { frames, broken: false };
  } catch {
    return { frames, broken: true };
  }
};

/** An answer in short: the text of its deltas, its items, how it ended. */
const inShort = async (script: Script): Promise<unknown> => {
  const { frames, broken } = await framesOf(await ask(await start(script)));
  const events = eventsOf(frames);
  expect(events.flatMap(validateStreamEvent)).toEqual([]);
  const typed = (type: string) => events.filter((event) => event['type'] === type);
  return {
    text: typed('response.output_text.delta')
      .map((event) => event['delta'])
      .join(''),
    items: typed('response.output_item.done').map((event) => event['item']),
    end: broken ? 'broken' : events.at(-1)?.['type'],
  };
};

const item = (type: string, more: object): unknown => expect.objectContaining({ type, ...more });
const message = (more: object = {}): unknown => item('message', { role: 'assistant', ...more });
const completed = 'response.completed';

describe('scripts that answer', () => {
  it.each<[string, Script, object]>([
    ['hello', scripts.hello, { text: 'Hello from the scripted model.', items: [message()], end: completed }],
    ['longText', scripts.longText(3), { text: 'word0 word1 word2 ', items: [message()], end: completed }],
    ['slow', scripts.slow(1), { text: 'one two three four five', items: [message()], end: completed }],
    [
      'toolCall',
      scripts.toolCall(),
      {
        text: '',
        items: [
          item('function_call', {
            name: 'get_weather',
            arguments: '{"city":"Paris"}',
            call_id: 'call_weather',
          }),
        ],
        end: completed,
      },
    ],
    [
      'parallelCalls',
      scripts.parallelCalls,
      {
        text: '',
        items: [
          item('function_call', { arguments: '{"city":"Paris"}', call_id: 'call_paris' }),
          item('function_call', { arguments: '{"city":"Oslo"}', call_id: 'call_oslo' }),
        ],
        end: completed,
      },
    ],
    [
      'reasoningThenText',
      scripts.reasoningThenText,
      {
        text: 'The answer is 42.',
        items: [item('reasoning', { encrypted_content: 'opaque-reasoning' }), message()],
        end: completed,
      },
    ],
    [
      'commentaryThenFinal',
      scripts.commentaryThenFinal,
      {
        text: 'Let me have a look.Here it is.',
        items: [message({ phase: 'commentary' }), message({ phase: 'final_answer' })],
        end: completed,
      },
    ],
    ['cutMidStream', scripts.cutMidStream, { text: 'This sentence will never', items: [], end: 'broken' }],
    ['contextLengthExceeded', scripts.contextLengthExceeded, { text: '', items: [], end: 'response.failed' }],
    ['failed', scripts.failed(), { text: '', items: [], end: 'response.failed' }],
    [
      'incompleteMaxTokens',
      scripts.incompleteMaxTokens,
      { text: 'This answer was cut', items: [message({ status: 'incomplete' })], end: 'response.incomplete' },
    ],
    [
      'refusal',
      scripts.refusal,
      {
        text: '',
        items: [message({ content: [{ type: 'refusal', refusal: 'I will not help with that.' }] })],
        end: completed,
      },
    ],
    ['noUsage', scripts.noUsage, { text: 'Not counted.', items: [message()], end: completed }],
    ['emptyAnswer', scripts.emptyAnswer, { text: '', items: [message()], end: completed }],
    ['noOutput', scripts.noOutput, { text: '', items: [], end: completed }],
    ['echoScript', scripts.echoScript, { text: '{"input":"hi"}', items: [message()], end: completed }],
    ['says', scripts.says([{ text: 'x' }]), { text: 'x', items: [message()], end: completed }],
  ])('%s', async (_name, script, expected) => {
    expect(await inShort(script)).toEqual(expected);
  });

  it('counts tokens as configured', async () => {
    const { frames } = await framesOf(await ask(await start(scripts.hello)));
    expect(eventsOf(frames).at(-1)).toMatchObject({
      response: { usage: { input_tokens: scripts.HELLO_USAGE.inputTokens, total_tokens: 18 } },
    });
  });
});

describe('scripts that refuse', () => {
  it.each<[string, Script, number, string | null, object]>([
    ['http429', scripts.http429(9), 429, '9', { code: 'rate_limit_exceeded' }],
    ['http401', scripts.http401, 401, null, { code: 'invalid_api_key' }],
    ['http400', scripts.http400('Bad.', 'x', 'y'), 400, null, { message: 'Bad.', param: 'x', code: 'y' }],
    ['http404Model', scripts.http404Model('q'), 404, null, { code: 'model_not_found' }],
    ['http500', scripts.http500, 500, null, { type: 'server_error' }],
    ['usageLimit', scripts.usageLimit(5), 429, null, { type: 'usage_limit_reached', resets_in_seconds: 5 }],
  ])('%s', async (_name, script, status, retryAfter, error) => {
    const response = await ask(await start(script));
    expect({
      status: response.status,
      retryAfter: response.headers.get('retry-after'),
      body: await response.json(),
    }).toEqual({ status, retryAfter, body: { error: expect.objectContaining(error) } });
  });
});

describe('scripts that misbehave', () => {
  it.each<[string, Script, string]>([
    ['hang', scripts.hang, 'response.in_progress'],
    ['hangMidStream', scripts.hangMidStream, 'response.output_text.delta'],
  ])('%s', async (_name, script, last) => {
    const target = await start(script);
    const gone = new AbortController();
    const response = await ask(target, {}, gone.signal);
    const seen: (string | null)[] = [];
    try {
      for await (const frame of readSse(response.body ?? '')) {
        seen.push(frame.event);
        if (frame.event === last) gone.abort();
      }
    } catch (error) {
      if (!gone.signal.aborted) throw error;
    }
    expect([seen.at(-1), await target.requests[0]?.ended]).toEqual([last, 'aborted']);
  });

  it('hangBeforeHeaders', async () => {
    const target = await start(scripts.hangBeforeHeaders);
    const gone = new AbortController();
    const answer = ask(target, {}, gone.signal);
    while (target.activeRequests() === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    gone.abort();
    await expect(answer).rejects.toThrow('aborted');
    expect(await target.requests[0]?.ended).toBe('aborted');
  });

  it('garbage', async () => {
    const html = await (await ask(await start(scripts.garbageHtml))).text();
    await server?.close();
    const { frames } = await framesOf(await ask(await start(scripts.garbageJson)));
    expect([html.startsWith('<!doctype html>'), frames.map((frame) => frame.event)]).toEqual([
      true,
      ['response.created', 'response.output_text.delta'],
    ]);
    expect(() => eventsOf(frames)).toThrow('JSON');
  });
});

describe('choosing a script', () => {
  const status = async (target: ModelServer, body: object = {}): Promise<number> =>
    (await ask(target, body)).status;

  it('in turn', async () => {
    const target = await start(scripts.inTurn(scripts.http500, scripts.http401));
    expect([await status(target), await status(target), await status(target)]).toEqual([500, 401, 401]);
  });

  it('by model', async () => {
    const target = await start(scripts.byModel({ broken: scripts.http500 }, scripts.http401));
    expect([await status(target, { model: 'broken' }), await status(target, { model: 'toString' })]).toEqual([
      500, 401,
    ]);
  });

  it('swapped', async () => {
    const { script, use } = scripts.swappable(scripts.http500);
    const target = await start(script);
    const before = await status(target);
    use(scripts.http401);
    expect([before, await status(target)]).toEqual([500, 401]);
  });
});
