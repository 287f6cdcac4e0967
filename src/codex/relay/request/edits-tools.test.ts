import { describe, expect, it } from 'vitest';
import {
  body,
  CHATGPT,
  edited,
  everything,
  nothing,
  PROVIDER,
  SESSION,
  SHAPE,
} from '../../../../test/support/edited.ts';
import { functionTool, turnRequest } from '../../../../test/support/turn-request.ts';
import type { Tool, ToolChoice } from '../../../canonical/request/tool.ts';
import type { Json, JsonObject } from '../../../kit/json/json.ts';
import { requestEdits } from './edits.ts';

const ref = (name: string) => ({ kind: 'function', name }) as const;

const parameters = { type: 'object', properties: { a: { type: 'string', pattern: 'x' }, b: true } };
const TOOLS: readonly Tool[] = [
  functionTool('f', { description: 'Does f.', parameters, strict: true }),
  functionTool('bare'),
  { kind: 'custom', name: 'c', description: null, format: { type: 'text' } },
  { kind: 'hosted', raw: { type: 'tool_search', execution: 'client' } },
];
const F = { type: 'function', name: 'f', description: 'Does f.', strict: true, parameters };
const CUSTOM = { type: 'custom', name: 'c', format: { type: 'text' } };
const HOSTED = { type: 'tool_search', execution: 'client' };
const FILLED_IN = {
  type: 'function',
  name: 'bare',
  strict: false,
  parameters: { type: 'object', properties: {} },
};

describe('request edits', () => {
  it('force, forbid and narrow the choice of tools', () => {
    const choices: readonly (readonly [ToolChoice, Json])[] = [
      [{ mode: 'auto' }, 'auto'],
      [{ mode: 'none' }, 'none'],
      [{ mode: 'required' }, 'required'],
      [
        { mode: 'named', tool: ref('f') },
        { type: 'function', name: 'f' },
      ],
      [{ mode: 'named', tool: { kind: 'hosted', raw: { type: 'web_search' } } }, { type: 'web_search' }],
      [
        { mode: 'allowed', required: true, tools: [ref('f'), { kind: 'custom', name: 'g', namespace: 'n' }] },
        {
          type: 'allowed_tools',
          mode: 'required',
          tools: [
            { type: 'function', name: 'f' },
            { type: 'custom', name: 'g', namespace: 'n' },
          ],
        },
      ],
      [
        { mode: 'allowed', required: false, tools: [ref('f')] },
        { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
      ],
    ];
    for (const [toolChoice, sent] of choices) expect(edited({ toolChoice })['tool_choice']).toEqual(sent);
    expect(edited({ parallelToolCalls: false })['parallel_tool_calls']).toBe(false);
    const oneAtATime = { ...body, parallel_tool_calls: false };
    expect(edited({ parallelToolCalls: true }, oneAtATime, CHATGPT)['parallel_tool_calls']).toBe(false);
  });

  it('force a call only in the first request of a turn', () => {
    const later = (toolChoice: ToolChoice): Json | undefined =>
      requestEdits(turnRequest({ tools: TOOLS, toolChoice }), SHAPE, SESSION, everything).apply(body, {
        ...nothing,
        isFirstRequest: false,
      })['tool_choice'];
    expect(later({ mode: 'required' })).toBe('auto');
    expect(later({ mode: 'named', tool: ref('f') })).toBe('auto');
    expect(later({ mode: 'none' })).toBe('none');
    expect(later({ mode: 'allowed', required: true, tools: [ref('f')] })).toMatchObject({ mode: 'auto' });
  });

  it('write the tools as the client declared them, before those of the app-server', () => {
    const own = { type: 'namespace', name: 'mcp__x', tools: [] };
    const exact = [F, { type: 'function', name: 'bare' }, CUSTOM, HOSTED, own];
    expect(edited({ tools: TOOLS }, { ...body, tools: [own] })['tools']).toEqual(exact);
    expect(edited({ tools: TOOLS }, { ...body, tools: [] }, CHATGPT)['tools']).toEqual([
      F,
      FILLED_IN,
      CUSTOM,
      HOSTED,
    ]);
  });

  it('omit tools that may not be called if the backend does not accept the choice', () => {
    const toolChoice: ToolChoice = { mode: 'allowed', required: false, tools: [ref('bare')] };
    const edits = requestEdits(turnRequest({ tools: TOOLS, toolChoice }), SHAPE, SESSION, everything);
    const untold = edits.apply(body, { ...nothing, without: new Set(['tool_choice']) });
    expect(untold['tools']).toEqual([{ type: 'function', name: 'bare' }]);
  });

  const inCodexFormat = (input: readonly JsonObject[], tools: readonly Tool[] = TOOLS): Json | undefined => {
    const shape = { ...SHAPE, strategy: { ...SHAPE.strategy, requestFormat: 'codex' as const } };
    const limits = { ...everything, profile: CHATGPT };
    const edits = requestEdits(turnRequest({ tools }), shape, SESSION, limits);
    return edits.apply({ ...body, input }, { ...nothing, isFirstRequest: false })['input'];
  };
  const functions = {
    type: 'namespace',
    name: 'functions',
    description: '',
    tools: [F, FILLED_IN, CUSTOM],
  };
  const message = { type: 'message', role: 'user', content: [] };

  it('put the tools into the first item in the codex format, as codex does', () => {
    const head = { type: 'additional_tools', role: 'developer' };
    expect(inCodexFormat([message])).toEqual([
      { ...head, id: 'at_session-1', tools: [functions, HOSTED] },
      message,
    ]);
    const own = { type: 'namespace', name: 'mcp__x', tools: [] };
    expect(inCodexFormat([{ ...head, id: 'at_1', tools: [own] }, message])).toEqual([
      { ...head, id: 'at_1', tools: [functions, HOSTED, own] },
      message,
    ]);
  });

  it("merge tools without a namespace into a client's namespace of codex’s name for it", () => {
    const raw = { type: 'namespace', name: 'functions', description: 'Mine.', tools: [CUSTOM] };
    const mine: Tool = { kind: 'namespace', name: 'functions', raw, members: [] };
    expect(inCodexFormat([message], [mine])).toMatchObject([{ tools: [raw] }, {}]);
    expect(inCodexFormat([message], [functionTool('bare'), mine])).toMatchObject([
      { tools: [{ ...raw, tools: [{ type: 'function', name: 'bare' }, CUSTOM] }] },
      {},
    ]);
  });

  it("send all fields of a tool, or codex's own", () => {
    const more = { defer_loading: true, allowed_callers: ['direct'] };
    const custom: Tool = { kind: 'custom', name: 'c', description: null, format: null, more };
    const tools = [functionTool('f', { more }), custom];
    const written = (profile: typeof CHATGPT): Json | undefined =>
      requestEdits(turnRequest({ tools }), SHAPE, SESSION, { ...everything, profile }).apply(body, nothing)[
        'tools'
      ];
    expect(written(PROVIDER)).toEqual([
      { type: 'function', name: 'f', ...more },
      { type: 'custom', name: 'c', ...more },
    ]);
    expect(written(CHATGPT)).toEqual([
      {
        type: 'function',
        name: 'f',
        strict: false,
        parameters: { type: 'object', properties: {} },
        defer_loading: true,
      },
      { type: 'custom', name: 'c', defer_loading: true },
    ]);
  });
});
