import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import type { Response, ResponseInputItem, Tool } from 'openai/resources/responses/responses';
import { afterAll, describe, expect, it } from 'vitest';

import { mcpFiles } from '../support/mcp/config-file.ts';
import { stdioEntry } from '../support/mcp/stdio-server.ts';
import { startProxy } from '../support/proxy.ts';
import { addsUp, SUM } from './adding.ts';
import { asksForRows, ROWS, runSql } from './custom.ts';
import { ANSWER, keepsThought, QUESTION, threeRounds, weatherIn } from './rounds.ts';

/** Loops of OpenAI's own SDK with the real app-server. */

const proxy = await startProxy(threeRounds, { PROXY_MCP_CONFIG: mcpFiles().write({ shop: stdioEntry() }) });
afterAll(() => proxy.close());
const { openai } = proxy;

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const sent = () => proxy.model.requests.map(({ body }) => body);

describe('runTools', () => {
  const ask = {
    model: 'gpt-5.5',
    messages: [{ role: 'user' as const, content: QUESTION }],
    tools: [
      {
        type: 'function' as const,
        function: {
          name: 'get_weather',
          description: 'The weather of a city.',
          parameters,
          parse: JSON.parse,
          function: ({ city }: { city: string }) => weatherIn(city),
        },
      },
    ],
  };

  it('completes as JSON and as streams', async () => {
    expect(await openai.chat.completions.runTools(ask).finalContent()).toBe(ANSWER);
    expect(await openai.chat.completions.runTools({ ...ask, stream: true }).finalContent()).toBe(ANSWER);
    expect(keepsThought(sent())).toBe(true);
  });
});

/** The client's reply to an answer; empty after the last one. */
type Reply = (answer: Response) => readonly ResponseInputItem[];

/** Sends requests until there is nothing to reply, and returns all answers. */
const loop = async (stream: boolean, tools: Tool[], reply: Reply): Promise<readonly Response[]> => {
  const input: ResponseInputItem[] = [{ role: 'user', content: QUESTION }];
  const answers: Response[] = [];
  for (;;) {
    const ask = { model: 'gpt-5.5', input, tools, store: false };
    const response = stream
      ? await openai.responses.stream(ask).finalResponse()
      : await openai.responses.create(ask);
    answers.push(response);
    const replies = reply(response);
    if (replies.length === 0) return answers;
    input.push(...(response.output as ResponseInputItem[]), ...replies);
  }
};

describe.each([false, true])('a loop over responses (stream: %s)', (stream) => {
  it('completes with a function', async () => {
    proxy.use(threeRounds);
    const tools: Tool[] = [{ type: 'function', name: 'get_weather', parameters, strict: false }];
    const answers = await loop(stream, tools, ({ output }) =>
      output
        .flatMap((item) => (item.type === 'function_call' ? [item] : []))
        // Reversed: outputs may come in any order.
        .toReversed()
        .map((call) => ({
          type: 'function_call_output',
          call_id: call.call_id,
          output: weatherIn((JSON.parse(call.arguments) as { city: string }).city),
        })),
    );
    expect(answers.at(-1)?.output_text).toBe(ANSWER);
  });

  it('completes with a custom tool', async () => {
    proxy.use(asksForRows);
    const answers = await loop(stream, [{ type: 'custom', name: 'run_sql' }], ({ output }) =>
      output.flatMap((item) =>
        item.type === 'custom_tool_call'
          ? [{ type: 'custom_tool_call_output', call_id: item.call_id, output: runSql(item.input) }]
          : [],
      ),
    );
    expect(answers.map(({ output_text: text }) => text)).toEqual(['', ROWS]);
  });

  it('asks for approval before it calls an MCP server', async () => {
    const [first, second] = await withApproval(stream, true);
    expect(first?.output_text).toBe('');
    expect(second?.output_text).toBe(SUM);
    expect(second?.output).toContainEqual(
      expect.objectContaining({ type: 'mcp_call', name: 'add', output: '5', status: 'completed' }),
    );
  });
});

const withApproval = (stream: boolean, approve: boolean): Promise<readonly Response[]> => {
  proxy.use(addsUp);
  return loop(stream, [{ type: 'mcp', server_label: 'shop' }], ({ output }) =>
    output.flatMap((item) =>
      item.type === 'mcp_approval_request'
        ? [{ type: 'mcp_approval_response', approval_request_id: item.id, approve }]
        : [],
    ),
  );
};

it('does not call an MCP server if that is declined, which the model sees', async () => {
  const [, second] = await withApproval(false, false);
  expect(second?.output_text).toBe('It is This call was declined..');
  expect(second?.output.map(({ type }) => type)).not.toContain('mcp_call');
});

it('calls an MCP server in the first answer if no approval is needed', async () => {
  proxy.use(addsUp);
  const tools: Tool[] = [{ type: 'mcp', server_label: 'shop', require_approval: 'never' }];
  const [answer] = await loop(true, tools, () => []);
  expect(answer?.output_text).toBe(SUM);
  expect(answer?.output.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['mcp_list_tools', 'mcp_call', 'message']),
  );
});

it.each([false, true])('a loop over chat completes with a custom tool (stream: %s)', async (stream) => {
  proxy.use(asksForRows);
  const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: QUESTION }];
  const tools = [{ type: 'custom' as const, custom: { name: 'run_sql' } }];
  for (;;) {
    const ask = { model: 'gpt-5.5', messages, tools };
    const { choices } = stream
      ? await openai.chat.completions.stream(ask).finalChatCompletion()
      : await openai.chat.completions.create(ask);
    const said = choices[0]?.message;
    const calls = said?.tool_calls ?? [];
    if (said !== undefined) messages.push(said);
    if (calls.length === 0) break;
    for (const call of calls) {
      const content = call.type === 'custom' ? runSql(call.custom.input) : 'not this one';
      messages.push({ role: 'tool', tool_call_id: call.id, content });
    }
  }
  expect(messages).toMatchObject([{}, { content: null }, { role: 'tool' }, { content: ROWS }]);
});
