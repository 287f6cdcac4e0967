import { expect, it } from 'vitest';

import { functionTool } from '../../../test/support/turn-request.ts';
import { failure } from '../../canonical/failure/failure.ts';
import type { Tool } from '../../canonical/request/tool.ts';
import { isAboutCustomTools, isAboutNamespaces } from './about-tools.ts';

const TOOLS: readonly Tool[] = [
  functionTool('f'),
  { kind: 'custom', name: 'c', description: null, format: null },
];
const refusal = (message: string, param: string | null) => failure('invalid_prompt', { message, param });

it.each([
  [true, "Invalid value: 'custom'. Supported values are: 'function'.", 'tools[1].type'],
  [true, "Missing required parameter: 'tools[1].parameters'.", 'tools[1].parameters'],
  [true, 'Unsupported tool type: custom', null],
  [true, "'type' of tool must be 'function'", null],
  [true, "Input should be 'function'", 'body.tools.1.type'],
  [true, 'Only function tools are supported.', null],
  [true, "Invalid value: 'custom_tool_call'.", 'input[2].type'],
  [false, "Missing required parameter: 'tools[0].parameters'.", 'tools[0].parameters'],
  [false, 'Invalid grammar of custom tool c.', 'tools[1].format.definition'],
  [false, "Invalid 'tools[1].name': string too long.", 'tools[1].name'],
  [false, 'Duplicate custom tool c is not allowed.', 'tools[1]'],
  [false, "Invalid schema for function 'f'.", 'tools[0].parameters'],
])('a refusal is about custom tools: %s, %s (%s)', (expected, message, param) => {
  expect(isAboutCustomTools(refusal(message, param), TOOLS)).toBe(expected);
});

it.each([
  [true, "Unknown parameter: 'input[3].namespace'.", 'input[3].namespace'],
  [true, 'Unsupported field namespace', null],
  [false, "Invalid value: 'namespace'.", 'tools[0].type'],
  [false, 'Something is not supported.', null],
])('a refusal is about namespaces of calls: %s, %s (%s)', (expected, message, param) => {
  expect(isAboutNamespaces(refusal(message, param))).toBe(expected);
});
