import { describe, expect, it } from 'vitest';

import { GatewayError } from '../../../canonical/failure/failure.ts';
import { readMessagesToolChoice } from './to-turn.ts';
import { readTools } from './tools.ts';

const SCHEMA = { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object', properties: {} };
const look = { name: 'look', description: 'Looks.', input_schema: SCHEMA };
const LOOK = { kind: 'function', name: 'look', description: 'Looks.', parameters: SCHEMA, strict: false };
const SEARCH = { kind: 'hosted', raw: { type: 'web_search' } };

const refusalOf = (run: () => unknown): unknown => {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { kind, param, message } = error.failure;
    return { kind, param, message };
  }
};

const read = (...tools: readonly unknown[]): unknown =>
  refusalOf(() => {
    const ignored: string[] = [];
    const { tools: first, deferred, maxToolCalls } = readTools(tools, ignored);
    return { tools: first, deferred: [...deferred], maxToolCalls, ignored };
  });

const OLD_EDITOR = ['command', 'path', 'file_text', 'old_str', 'new_str', 'insert_line', 'view_range'];

describe('the tools of a message', () => {
  it('are functions of the client', () => {
    const strict = { ...look, type: 'custom', name: 'strict', strict: true };
    const plain = { name: 'x'.repeat(128), input_schema: { type: 'object' } };
    expect(read(look, strict, plain)).toEqual({
      tools: [
        LOOK,
        { ...LOOK, name: 'strict', strict: true },
        { ...LOOK, name: `${'x'.repeat(55)}_2f5e97c5`, description: null, parameters: { type: 'object' } },
      ],
      deferred: [],
      maxToolCalls: null,
      ignored: [],
    });
  });

  it('have fields that change nothing, and others that are named', () => {
    const marked = { ...look, cache_control: { type: 'ephemeral' }, eager_input_streaming: true };
    const examples = { ...look, name: 'other', input_examples: [{}], allowed_callers: ['direct'] };
    expect(read(marked, examples)).toMatchObject({
      tools: [LOOK, { ...LOOK, name: 'other' }],
      ignored: ['tools[1].input_examples', 'tools[1].allowed_callers'],
    });
  });

  it('are deferred until the conversation refers to them', () => {
    const placeholder = { ...look, name: 'DeferredToolPlaceholder' };
    const late = { ...look, name: 'late', defer_loading: true };
    const tools = readTools([late, { ...look, defer_loading: false }, placeholder], []);
    expect([tools.tools, [...tools.deferred], tools.placeOf(0)]).toEqual([
      [LOOK],
      [
        ['late', { ...LOOK, name: 'late' }],
        ['DeferredToolPlaceholder', { ...LOOK, name: 'DeferredToolPlaceholder' }],
      ],
      'tools[1]',
    ]);
  });

  it('include web search', () => {
    const search = {
      type: 'web_search_20250305',
      name: 'web_search',
      max_uses: 8,
      allowed_domains: ['example.com'],
      user_location: { type: 'approximate', city: 'Oslo', region: null },
    };
    expect(read(search)).toEqual({
      tools: [
        {
          kind: 'hosted',
          raw: {
            type: 'web_search',
            filters: { allowed_domains: ['example.com'] },
            user_location: { type: 'approximate', city: 'Oslo' },
          },
        },
      ],
      deferred: [],
      maxToolCalls: 8,
      ignored: [],
    });
    const later = { type: 'web_search_20260318', name: 'web_search', blocked_domains: ['example.org'] };
    expect(read(later)).toEqual({
      tools: [SEARCH],
      deferred: [],
      maxToolCalls: null,
      ignored: ['tools[0].blocked_domains'],
    });
  });

  it.each([
    ['bash_20241022', 'bash', ['command', 'restart']],
    ['bash_20250124', 'bash', ['command', 'restart']],
    ['text_editor_20241022', 'str_replace_editor', OLD_EDITOR],
    ['text_editor_20250124', 'str_replace_editor', OLD_EDITOR],
    ['text_editor_20250429', 'str_replace_based_edit_tool', OLD_EDITOR],
    ['text_editor_20250728', 'str_replace_based_edit_tool', [...OLD_EDITOR, 'insert_text']],
    ['memory_20250818', 'memory', [...OLD_EDITOR, 'insert_text', 'old_path', 'new_path']],
    ['computer_20241022', 'computer', ['action', 'coordinate', 'text']],
    [
      'computer_20250124',
      'computer',
      ['action', 'coordinate', 'text', 'start_coordinate', 'scroll_direction', 'scroll_amount', 'duration'],
    ],
  ])('of the type %s are functions with their public input', (type, name, fields) => {
    const [tool] = readTools([{ type, name, cache_control: { type: 'ephemeral' } }], []).tools;
    if (tool?.kind !== 'function') throw new Error('not a function');
    expect([tool.name, tool.strict]).toEqual([name, false]);
    const { properties } = tool.parameters as { readonly properties: object };
    expect(Object.keys(properties).toSorted()).toEqual([...fields].toSorted());
    expect(() => readTools([{ type, name: 'other' }], [])).toThrow(`'${name}'`);
  });

  it('say the settings of their declaration to the model', () => {
    const described = (tool: object): unknown => {
      const [defined] = readTools([tool], []).tools;
      return defined?.kind === 'function' ? defined.description : null;
    };
    const editor = { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 900 };
    expect(described(editor)).toContain('at most 900 characters');
    const screen = { name: 'computer', display_width_px: 800, display_height_px: 600 };
    expect(described({ type: 'computer_20251124', ...screen })).toContain('800 × 600 pixels');
    const ignored: string[] = [];
    const [zooming] = readTools([{ type: 'computer_20251124', ...screen, enable_zoom: true }], ignored).tools;
    expect(JSON.stringify(zooming)).toContain('"zoom"');
    expect(ignored).toEqual([]);
  });

  it('are rejected by name if only Anthropic has them', () => {
    const types = ['bash_20990101', 'browser_toolset_20260801', 'computer_toolset_20260801'];
    for (const type of types) {
      expect(read(look, { type, name: 'x' })).toEqual({
        kind: 'unsupported_tool',
        param: 'tools[1].type',
        message: `Unsupported tool: 'tools[1].type' is '${type}', which this server does not have: only Claude models know its input. Declare a tool with an input_schema instead.`,
      });
    }
    for (const type of ['code_execution_20250825', 'web_fetch_20250910', 'advisor_20260301']) {
      expect(read({ type })).toEqual({
        kind: 'unsupported_tool',
        param: 'tools[0].type',
        message: `Unsupported tool: 'tools[0].type' is '${type}', which this server does not have: it would run on Anthropic's servers. Remove it from the request.`,
      });
    }
  });

  it('are rejected if they are invalid', () => {
    const invalid: readonly (readonly [unknown, string])[] = [
      [7, 'tools[0]'],
      [{ ...look, type: 7 }, 'tools[0].type'],
      [{ ...look, name: 'a b' }, 'tools[0].name'],
      [{ ...look, name: 'x'.repeat(129) }, 'tools[0].name'],
      [{ name: 'look' }, 'tools[0].input_schema'],
      [{ ...look, input_schema: { type: 'array' } }, 'tools[0].input_schema'],
      [{ type: 'web_search_20250305', name: 'search' }, 'tools[0].name'],
      [{ type: 'web_search_20250305', name: 'web_search', max_uses: 0 }, 'tools[0].max_uses'],
    ];
    for (const [tool, param] of invalid) expect(read(tool)).toMatchObject({ param });
    const search = { type: 'web_search_20250305', name: 'web_search' };
    for (const [one, same] of [
      [look, { ...look, defer_loading: true }],
      [search, { ...look, name: 'web_search' }],
      [search, search],
    ])
      expect(read(one, same)).toMatchObject({ kind: 'invalid_value', param: 'tools[1].name' });
  });
});

describe('the tool choice of a message', () => {
  const { tools } = readTools([look, { type: 'web_search_20250305', name: 'web_search' }], []);
  const choose = (choice: object | null, among = tools): unknown =>
    refusalOf(() =>
      readMessagesToolChoice(choice as Parameters<typeof readMessagesToolChoice>[0], among, []),
    );

  it('is one of four', () => {
    const parallelToolCalls = null;
    const auto = { toolChoice: { mode: 'auto' }, parallelToolCalls };
    expect([choose(null), choose({ type: 'auto' })]).toEqual([auto, auto]);
    expect(choose({ type: 'none' })).toEqual({ toolChoice: { mode: 'none' }, parallelToolCalls });
    expect(choose({ type: 'any' })).toEqual({ toolChoice: { mode: 'required' }, parallelToolCalls });
    expect(choose({ type: 'tool', name: 'look' })).toEqual({
      toolChoice: { mode: 'named', tool: { kind: 'function', name: 'look' } },
      parallelToolCalls,
    });
    expect(choose({ type: 'tool', name: 'web_search' })).toEqual({
      toolChoice: { mode: 'named', tool: SEARCH },
      parallelToolCalls,
    });
  });

  it('may ask for one call at a time', () => {
    expect(choose({ type: 'auto', disable_parallel_tool_use: true })).toEqual({
      toolChoice: { mode: 'auto' },
      parallelToolCalls: false,
    });
    expect(choose({ type: 'auto', disable_parallel_tool_use: false })).toMatchObject({
      parallelToolCalls: null,
    });
  });

  it('is rejected if no tool can meet it', () => {
    expect([
      choose({ type: 'any' }, []),
      choose({ type: 'tool', name: 'late' }),
      choose({ type: 'tool' }),
      choose({ type: 'all' }),
    ]).toMatchObject([
      { kind: 'invalid_value', param: 'tool_choice' },
      { kind: 'invalid_value', param: 'tool_choice.name' },
      { kind: 'missing_required_parameter', param: 'tool_choice.name' },
      { kind: 'invalid_value', param: 'tool_choice.type' },
    ]);
  });
});
