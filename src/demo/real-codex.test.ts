import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startBareCodex, type BareCodex, type Note } from '../../test/support/bare-codex.ts';
import {
  byModel,
  cutMidStream,
  hang,
  hello,
  reasoningThenText,
  toolCall,
} from '../../test/support/scripts.ts';
import { answer } from './answer.ts';
import { demoScript } from './demo-script.ts';
import { startModelServer } from './model-server.ts';
import type { ModelServer, RecordedRequest, Script } from './model-server.ts';

/** The model server with the real app-server: app-server must understand what the model server writes. */
let server: ModelServer;
let recorded: RecordedRequest[] = [];
let codex: BareCodex;
let notes: Note[] = [];
let thread = '';
const watchers = new Set<() => void>();

const noted = (method: string): Promise<Note> =>
  new Promise((resolve) => {
    const look = (): void => {
      const note = notes.find((one) => one.method === method);
      if (note === undefined) return;
      watchers.delete(look);
      resolve(note);
    };
    watchers.add(look);
    look();
  });

const startTurn = async (
  model: string,
  text: string,
  settings: object = {},
  turn: object = {},
): Promise<string> => {
  const started = await codex.call('thread/start', {
    model,
    cwd: codex.home,
    environments: [],
    ephemeral: true,
    experimentalRawEvents: true,
    approvalPolicy: 'never',
    sandbox: 'read-only',
    baseInstructions: '',
    ...settings,
  });
  const threadId: string = started.thread.id;
  thread = threadId;
  notes = [];
  recorded = [];
  const items = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }];
  await codex.call('thread/inject_items', { threadId, items });
  await codex.call('turn/start', { threadId, input: [], summary: 'none', ...turn });
  return threadId;
};

const deltas = (method = 'item/agentMessage/delta'): string =>
  notes
    .filter((note) => note.method === method)
    .map((note) => note.params.delta)
    .join('');

const INPUT_ROLES = new Set(['user', 'developer']);

/** The notifications about model output, without app-server's own and without the echoed input. */
const rawItems = (): unknown[] =>
  notes
    .filter((note) => note.method === 'rawResponseItem/completed' && !INPUT_ROLES.has(note.params.item.role))
    .map(({ params }) => {
      const { internal_chat_message_metadata_passthrough: _added, ...item } = params.item;
      return item;
    });

/** Says hello in an event stream whose text is changed. */
const helloAs =
  (rewrite: (text: string) => string): Script =>
  (_request, connection) => {
    const write = (text: string): void => connection.write(rewrite(text));
    return answer(Object.create(connection, { write: { value: write } }), [{ text: 'Hello' }]);
  };

beforeAll(async () => {
  server = await startModelServer({
    record: (request) => recorded.push(request),
    script: byModel(
      {
        's-hello': hello,
        's-call': toolCall(),
        's-reasoning': reasoningThenText,
        's-cut': cutMidStream,
        's-hang': hang,
        's-crlf': helloAs((text) => text.replaceAll('\n', '\r\n')),
        's-cr': helloAs((text) => text.replaceAll('\n', '\r')),
        's-bom': helloAs((text) => text.replace(/^(?=event: response\.created\n)/, '\uFEFF')),
      },
      demoScript({ deltaDelayMs: 0, howToSignIn: 'Sign in.' }),
    ),
  });
  codex = await startBareCodex(server.baseUrl, (note) => {
    // An interrupted turn of an earlier test may still send notifications.
    if (note.params?.threadId === thread) notes.push(note);
    for (const look of watchers) look();
  });
});

afterAll(async () => {
  await codex.close();
  await server.close();
});

describe('the model server behind the real app-server', () => {
  it('delivers text and usage', async () => {
    await startTurn('s-hello', 'hi');
    const end = await noted('turn/completed');
    const response = notes.find((note) => note.method === 'rawResponse/completed');
    const [item] = rawItems();
    expect({ text: deltas(), item, usage: response?.params.usage, status: end.params.turn.status }).toEqual({
      text: 'Hello from the scripted model.',
      item: {
        type: 'message',
        id: expect.stringMatching(/^msg_[0-9a-f]{32}$/u),
        role: 'assistant',
        status: 'completed',
        content: [
          { type: 'output_text', text: 'Hello from the scripted model.', annotations: [], logprobs: [] },
        ],
      },
      usage: {
        inputTokens: 11,
        cachedInputTokens: 3,
        cacheWriteInputTokens: 2,
        outputTokens: 7,
        reasoningOutputTokens: 1,
        totalTokens: 18,
      },
      status: 'completed',
    });
    expect(await recorded[0]?.ended).toBe('finished');
  });

  it('delivers a tool call', async () => {
    const tool = { type: 'function', name: 'get_weather', description: 'd', inputSchema: { type: 'object' } };
    const threadId = await startTurn('s-call', 'weather?', { dynamicTools: [tool] });
    const asked = await noted('item/tool/call');
    await noted('rawResponse/completed');
    expect({ items: rawItems(), tool: asked.params.tool, args: asked.params.arguments }).toEqual({
      items: [
        {
          type: 'function_call',
          id: expect.stringMatching(/^fc_[0-9a-f]{32}$/u),
          call_id: 'call_weather',
          name: 'get_weather',
          status: 'completed',
          arguments: '{"city":"Paris"}',
        },
      ],
      tool: 'get_weather',
      args: { city: 'Paris' },
    });
    await codex.call('turn/interrupt', { threadId, turnId: asked.params.turnId });
  });

  it('delivers reasoning', async () => {
    await startTurn('s-reasoning', 'hi', {}, { summary: 'auto' });
    await noted('turn/completed');
    expect({
      summary: deltas('item/reasoning/summaryTextDelta'),
      text: deltas(),
      item: rawItems()[0],
    }).toEqual({
      summary: '**Looking**\n\nAt the question.**Deciding**\n\nOn the answer.',
      text: 'The answer is 42.',
      item: {
        type: 'reasoning',
        id: expect.stringMatching(/^rs_[0-9a-f]{32}$/u),
        summary: [
          { type: 'summary_text', text: '**Looking**\n\nAt the question.' },
          { type: 'summary_text', text: '**Deciding**\n\nOn the answer.' },
        ],
        content: null,
        encrypted_content: 'opaque-reasoning',
      },
    });
  });

  it('fails the turn after the received text when the connection is cut', async () => {
    await startTurn('s-cut', 'hi');
    const end = await noted('turn/completed');
    expect({
      text: deltas(),
      status: end.params.turn.status,
      message: end.params.turn.error.message,
    }).toEqual({
      text: 'This sentence will never',
      status: 'failed',
      message: expect.stringContaining('stream disconnected before completion'),
    });
    expect(await recorded[0]?.ended).toBe('cut');
  });

  it.each([
    ['s-crlf', { text: 'Hello', status: 'completed' }],
    ['s-cr', { text: 'Hello', status: 'failed' }],
    ['s-bom', { text: '', status: 'failed' }],
  ])(
    'loses the last event if lines end in CR, and all events after a byte order mark: %s',
    async (model, read) => {
      await startTurn(model, 'hi');
      const end = await noted('turn/completed');
      expect({ text: deltas(), status: end.params.turn.status }).toEqual(read);
    },
  );

  it('sees a closed request when a turn is interrupted', async () => {
    const threadId = await startTurn('s-hang', 'hi');
    const { params } = await noted('turn/started');
    while (recorded.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await codex.call('turn/interrupt', { threadId, turnId: params.turn.id });
    const end = await noted('turn/completed');
    expect([end.params.turn.status, await recorded[0]?.ended]).toEqual(['interrupted', 'aborted']);
  });

  it('delivers a demo answer, and one that matches a schema', async () => {
    await startTurn('demo', 'How are you?');
    await noted('turn/completed');
    const plain = deltas();
    const outputSchema = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    };
    await startTurn('demo', 'Where is Bergen?', {}, { outputSchema });
    await noted('turn/completed');
    expect([plain, deltas()]).toEqual([
      'Hello! I am the demo model of codex-app-server-proxy: everything works, only the thinking is missing. You wrote: “How are you?”. Sign in.',
      '{"city":"Bergen"}',
    ]);
  });

  it('delivers a tool call of the demo model for a newer model', async () => {
    const tool = { type: 'function', name: 'get_weather', description: 'd', inputSchema: { type: 'object' } };
    const threadId = await startTurn('gpt-6.1-sol', 'The weather in Bergen?', { dynamicTools: [tool] });
    const asked = await noted('item/tool/call');
    expect(asked.params.tool).toBe('get_weather');
    await codex.call('turn/interrupt', { threadId, turnId: asked.params.turnId });
  });
});
