import { describe, expect, it } from 'vitest';
import { body, CHATGPT, edited, everything, nothing, SESSION, SHAPE } from '../../../test/support/edited.ts';
import { functionTool, turnRequest } from '../../../test/support/turn-request.ts';
import type { ToolChoice } from '../../canonical/turn-request.ts';
import type { Json } from '../../kit/json.ts';
import { requestEdits } from './edits.ts';
describe('sent edits', () => {
  it('force, forbid and narrow the choice of tools', () => {
    const choices: readonly (readonly [ToolChoice, Json])[] = [
      [{ mode: 'auto' }, 'auto'],
      [{ mode: 'none' }, 'none'],
      [{ mode: 'required' }, 'required'],
      [
        { mode: 'function', name: 'f' },
        { type: 'function', name: 'f' },
      ],
      [
        { mode: 'allowed', required: true, names: ['f', 'g'] },
        {
          type: 'allowed_tools',
          mode: 'required',
          tools: [
            { type: 'function', name: 'f' },
            { type: 'function', name: 'g' },
          ],
        },
      ],
      [
        { mode: 'allowed', required: false, names: ['f'] },
        { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
      ],
    ];
    for (const [toolChoice, sent] of choices) expect(edited({ toolChoice })['tool_choice']).toEqual(sent);
    expect(edited({ parallelToolCalls: false })['parallel_tool_calls']).toBe(false);
    const oneAtATime = { ...body, parallel_tool_calls: false };
    expect(edited({ parallelToolCalls: true }, oneAtATime, CHATGPT)['parallel_tool_calls']).toBe(false);
  });

  it('restore tools wherever they stand, and touch no others', () => {
    const parameters = { type: 'object', properties: { a: { type: 'string', pattern: 'x' }, b: true } };
    const tools = [
      functionTool('f', { description: 'Does f.', parameters, strict: true }),
      functionTool('bare'),
    ];
    const thin = { type: 'function', name: 'f', description: 'Does f.', strict: false, parameters: {} };
    const bare = { type: 'function', name: 'bare', description: '', strict: false, parameters: { x: 1 } };
    const other = { type: 'web_search' };
    const nameless = { type: 'function', name: 7 };
    const exact = [
      { type: 'function', name: 'f', description: 'Does f.', strict: true, parameters },
      { type: 'function', name: 'bare' },
      other,
      nameless,
      'odd',
    ];
    const sent = [thin, bare, other, nameless, 'odd'];
    expect(edited({ tools }, { ...body, tools: sent })['tools']).toEqual(exact);
    const filledIn = { type: 'function', name: 'bare', strict: false, parameters: { x: 1 } };
    expect(edited({ tools }, { ...body, tools: [bare] }, CHATGPT)['tools']).toEqual([filledIn]);
    const lite = {
      ...body,
      input: [
        {
          type: 'additional_tools',
          role: 'developer',
          tools: [{ type: 'namespace', name: 'n', tools: sent }],
        },
        { type: 'message', role: 'user', content: [] },
      ],
    };
    const isLater = { ...nothing, isFirstRequest: false };
    expect(requestEdits(turnRequest({ tools }), SHAPE, SESSION, everything).apply(lite, isLater)).toEqual({
      ...lite,
      prompt_cache_key: 'cache-key',
      input: [
        {
          type: 'additional_tools',
          role: 'developer',
          tools: [{ type: 'namespace', name: 'n', tools: exact }],
        },
        { type: 'message', role: 'user', content: [] },
      ],
    });
    expect(edited({ tools }, { ...body, input: 'text', tools: 'odd' })).toEqual({
      ...body,
      input: 'text',
      tools: 'odd',
      prompt_cache_key: 'cache-key',
    });
  });
});
