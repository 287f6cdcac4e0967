import { describe, expect, it } from 'vitest';

import type { Path } from '../../canonical/request/path.ts';
import { parameterName } from '../../apis/parameters.ts';
import { chatNames } from './parameters.ts';

describe('chatNames', () => {
  const PATHS: readonly Path[] = [
    'toolChoice',
    'reasoning.effort',
    'items',
    { item: 1 },
    { item: 7 },
    { imageDetail: { item: 0, of: 'content', part: 2 } },
    { include: 'message.output_text.logprobs' },
    { tool: 4 },
    { file: { item: 1, of: 'content', part: 0 } },
    { tool: 3 },
    { toolField: { tool: 0, field: 'defer_loading' } },
  ];

  it('names the parts of a request as the caller wrote them', () => {
    const placeOf = (index: number): string => `some.place[${index}]`;
    const places = ['messages[0]', 'messages[2]'];
    const named = (isLegacy: boolean, hasReasoning: boolean) =>
      PATHS.map((path) =>
        parameterName(path, chatNames({ places, isLegacy, webSearchAt: 4, hasReasoning, placeOf })),
      );
    const rest = [
      'messages',
      'messages[2]',
      'messages',
      'messages[0].content[2].detail',
      'logprobs',
      'web_search_options',
      'messages[2].content[0]',
    ];
    expect(named(false, false)).toEqual([
      'tool_choice',
      'reasoning_effort',
      ...rest,
      'tools[3]',
      'some.place[0].defer_loading',
    ]);
    expect(named(true, true)).toEqual([
      'function_call',
      'reasoning.effort',
      ...rest,
      'functions[3]',
      'some.place[0].defer_loading',
    ]);
  });
});
