import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

import { CLAUDE, HAS_CLAUDE } from '../support/claude-code.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import {
  call,
  claudeRooms,
  expectGrowing,
  thought,
  thoughtItem,
  userText,
  watch,
  workIn,
} from './claude-session.ts';
import { itemsOf } from './rounds.ts';

/** The real Claude Code, the real app-server, and a scripted model: what a user does with `claude -p`. */

// As OpenAI does, the backend takes tools that load late in the middle of the conversation.
const proxy = await openProxy(hello, { PROXY_UPSTREAM_PARAMS: 'all' });
const openRoom = claudeRooms(() => proxy);

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe.skipIf(!HAS_CLAUDE)('Claude Code', { meta: { needs: CLAUDE } }, () => {
  it('edits a file over several rounds, with parallel calls and a command that fails', async () => {
    const room = await openRoom();
    const file = path.join(room.work, 'a.txt');
    await writeFile(file, 'one\n');
    // Not as Claude Code would write it: the model gets its own text back.
    const edit = `{"file_path": ${JSON.stringify(file)},  "old_string":"one","new_string":"two"}`;
    const read = { file_path: file };
    const [echo, fail] = [{ command: 'echo hi' }, { command: 'cat a.txt; exit 3' }];
    const sent = watch(
      proxy,
      inTurn(
        says([thought(1), call('call_1', 'Read', read)]),
        says([
          thought(2),
          { text: 'I edit it.' },
          call('call_2', 'Edit', edit),
          call('call_3', 'Bash', echo),
        ]),
        says([call('call_4', 'Bash', fail)]),
        says([thought(3), { text: 'Done.' }]),
      ),
    );
    const { code, result } = await room.ask('edit the file');
    expect([code, result['result'], result['is_error']]).toEqual([0, 'Done.', false]);
    expect(await readFile(file, 'utf8')).toBe('two\n');
    expect(sent()).toHaveLength(4);
    expect(workIn(sent()[3])).toMatchObject([
      thoughtItem(1),
      { type: 'function_call', call_id: 'call_1', name: 'Read', arguments: JSON.stringify(read) },
      { type: 'function_call_output', call_id: 'call_1', output: '1\tone\n2\t' },
      thoughtItem(2),
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I edit it.' }] },
      { type: 'function_call', call_id: 'call_2', name: 'Edit', arguments: edit },
      { type: 'function_call', call_id: 'call_3', name: 'Bash', arguments: JSON.stringify(echo) },
      { type: 'function_call_output', call_id: 'call_2', output: expect.stringContaining('updated') },
      { type: 'function_call_output', call_id: 'call_3', output: 'hi' },
      { type: 'function_call', call_id: 'call_4', name: 'Bash', arguments: JSON.stringify(fail) },
      {
        type: 'function_call_output',
        call_id: 'call_4',
        output: expect.stringMatching(/^Error: The tool call failed\.\nExit code 3\ntwo/),
      },
    ]);
    expectGrowing(sent());
  });

  it('shows the model a picture', async () => {
    const room = await openRoom();
    const file = path.join(room.work, 'a.png');
    await writeFile(file, Buffer.from(PIXEL, 'base64'));
    const sent = watch(
      proxy,
      inTurn(says([call('call_1', 'Read', { file_path: file })]), says([{ text: 'Red.' }])),
    );
    expect((await room.ask('what is in the picture?')).result['result']).toBe('Red.');
    expect(workIn(sent()[1]).at(-1)).toMatchObject({
      type: 'function_call_output',
      call_id: 'call_1',
      output: [{ type: 'input_image', image_url: `data:image/png;base64,${PIXEL}` }],
    });
  });

  it('returns an object for --json-schema', async () => {
    const schema = {
      type: 'object',
      properties: { colour: { type: 'string' } },
      required: ['colour'],
      additionalProperties: false,
    };
    const room = await openRoom();
    const sent = watch(proxy, says([call('call_1', 'StructuredOutput', { colour: 'red' })]));
    const { code, result } = await room.ask('which colour?', '--json-schema', JSON.stringify(schema));
    expect([code, result['structured_output']]).toEqual([0, { colour: 'red' }]);
    const tools = sent()[0]?.['tools'];
    expect(tools).toContainEqual(
      expect.objectContaining({
        type: 'function',
        name: 'StructuredOutput',
        parameters: expect.objectContaining({ properties: schema.properties }),
      }),
    );
  });

  it('resumes a session in a new process, with its reasoning', async () => {
    const room = await openRoom();
    const sent = watch(
      proxy,
      inTurn(
        says([thought(1), call('call_1', 'Bash', { command: 'echo hi' })]),
        says([thought(2), { text: 'First.' }]),
        says([{ text: 'Second.' }]),
      ),
    );
    const first = await room.ask('begin');
    const second = await room.ask('go on', '--resume', first.session);
    expect(second.result).toMatchObject({ result: 'Second.', session_id: first.session });
    expect(workIn(sent()[2])).toMatchObject([
      thoughtItem(1),
      { type: 'function_call', call_id: 'call_1' },
      { type: 'function_call_output', call_id: 'call_1', output: 'hi' },
      thoughtItem(2),
      { role: 'assistant', content: [{ text: 'First.' }] },
    ]);
    expectGrowing(sent());
  });

  it('continues its prompt to the byte over ten turns with tools', async () => {
    const room = await openRoom();
    const rounds = Array.from({ length: 10 }, (_, turn) => [
      says([thought(turn), ...callsOf(turn)]),
      says([thought(100 + turn), { text: `Answer ${turn}.` }]),
    ]).flat();
    const sent = watch(proxy, inTurn(hello, ...rounds));
    const prompts = Array.from({ length: 10 }, (_, turn) => `question ${turn}`);
    const { code, results } = await room.talk(['hello', ...prompts]);
    expect([code, results.map(({ result }) => result)]).toEqual([
      0,
      ['Hello from the scripted model.', ...prompts.map((_, turn) => `Answer ${turn}.`)],
    ]);
    expect(sent()).toHaveLength(21);
    expectGrowing(sent());
    expect(sent()[0]?.['prompt_cache_key']).toEqual(expect.any(String));
    const last = sent().at(-1);
    expect(itemsOf(last ?? {}).filter(({ type }) => type === 'reasoning')).toHaveLength(19);
    expect(JSON.stringify(last)).not.toMatch(/cache_control|x-anthropic-billing-header/);
    expect(userText(last)).toContain('question 9');
  });
});

/** The fifth turn loads a tool, and some turns have two calls at once. */
const callsOf = (turn: number) => {
  if (turn === 4) return [call('call_search', 'ToolSearch', { query: 'select:WebFetch,WebSearch' })];
  const commands = turn % 3 === 0 ? ['echo one', 'exit 1'] : ['echo one'];
  return commands.map((command, index) => call(`call_${turn}_${index}`, 'Bash', { command }));
};
