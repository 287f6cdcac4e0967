import { afterAll, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import type { ScriptStep } from '../../src/demo/script-step.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { hello, says } from '../support/scripts.ts';
import { closeForGood, expectSound } from './settle.ts';
import { startWatchedProxy } from './workers.ts';

/**
 * codex gets no tools: it treats every call as unknown, answers it, and would call the model again. It must
 * never get that far, whatever was called and however much runs concurrently.
 */
const ANSWERS = Number(process.env['TOOL_ANSWERS'] ?? 60);
const AT_ONCE = 16;

const proxy = await startWatchedProxy(hello);
afterAll(() => closeForGood(proxy));

const schema = { type: 'object', properties: {} };
/** Including names of codex's own tools. */
const NAMES = ['get_weather', 'exec_command', 'apply_patch', 'update_plan', 'mcp__x__y', 'shell'];
const flat = (name: string, type = 'function'): JsonObject =>
  type === 'function' ? { type, name, parameters: schema } : { type, name };
const SEARCH = { type: 'tool_search', execution: 'client', description: 'Finds.', parameters: schema };
const TOOLS = [
  ...NAMES.map((name) => flat(name)),
  flat('note', 'custom'),
  { type: 'namespace', name: 'files', description: 'Files.', tools: [flat('list'), flat('touch', 'custom')] },
  SEARCH,
];

const SHAPES: readonly ((name: string) => readonly ScriptStep[])[] = [
  (name) => [{ call: { name, arguments: '{}' } }],
  (name) => [
    { text: 'Let me see.' },
    { call: { name, arguments: '{}' } },
    // codex has answered it by then.
    { wait: 200 },
    { call: { name, arguments: '{}' } },
  ],
  () => [{ call: { tool: 'custom', name: 'note', arguments: 'x' } }],
  (name) => [
    { call: { tool: 'custom', name: 'touch', namespace: 'files', arguments: '' } },
    { call: { name: 'list', namespace: 'files', arguments: '{}' } },
    { call: { name, arguments: '{}' } },
  ],
  (name) => [
    { call: { name: 'nobody_declared_this', arguments: '{}' } },
    { call: { tool: 'custom', name: 'nor_this', arguments: '{}' } },
    { call: { name, arguments: '{}' } },
  ],
  () => [
    {
      item: {
        type: 'tool_search_call',
        id: 'tsc_1',
        call_id: 'c',
        status: 'completed',
        execution: 'client',
        arguments: { query: 'q' },
      },
    },
  ],
];

const ask = async (number: number): Promise<void> => {
  const stream = number % 2 === 0;
  const model = number % 5 === 0 ? 'gpt-6.1-sol' : 'gpt-5.5';
  const question = `number ${number}.`;
  const isChat = number % 3 === 1 && number % SHAPES.length < 2;
  const response = isChat
    ? await proxy.post('/v1/chat/completions', {
        model,
        stream,
        messages: [{ role: 'user', content: question }],
        tools: NAMES.map((name) => ({ type: 'function', function: { name, parameters: schema } })),
      })
    : await proxy.post('/v1/responses', { model, stream, input: question, tools: TOOLS });
  const text = await response.text();
  expect([number, response.status]).toEqual([number, 200]);
  expect(text).toMatch(
    isChat
      ? /"finish_reason":"tool_calls"/
      : /"call_id":"[\s\S]*"status":"completed"|"status":"completed"[\s\S]*"call_id":"/,
  );
};

it('an answer with calls is the last model request', async () => {
  const asked = new Map<number, number>();
  const script: Script = (request, connection) => {
    const number = Number(/number (\d+)\./.exec(JSON.stringify(request.body['input']))?.[1]);
    asked.set(number, (asked.get(number) ?? 0) + 1);
    const steps = SHAPES[number % SHAPES.length]?.(NAMES[number % NAMES.length] ?? '') ?? [];
    return says(steps)(request, connection);
  };
  proxy.use(script);
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < ANSWERS) {
      const number = next;
      next += 1;
      await ask(number);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  expect([asked.size, [...asked].filter(([, count]) => count !== 1)]).toEqual([ANSWERS, []]);
  await expectSound(proxy);
});
