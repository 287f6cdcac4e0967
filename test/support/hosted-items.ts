import type { ItemStep } from '../../src/demo/script-step.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';

/** Items of hosted tools, as OpenAI sends them: at their start, at their end, and the events in between. */
export interface HostedItem {
  /** Prefix of its id. */
  readonly prefix: string;
  readonly initial: JsonObject & { readonly type: string };
  /** The complete item. */
  readonly ended: JsonObject;
  /** The events in between: their type without `response.`, and their fields besides the position. */
  readonly events: readonly (readonly [type: string, more?: JsonObject])[];
}

const progress = (type: string, ...words: readonly string[]): HostedItem['events'] =>
  words.map((word) => [`${type}.${word}`] as const);

export const HOSTED_ITEMS = {
  'web search': {
    prefix: 'ws',
    initial: { type: 'web_search_call', status: 'in_progress', action: { type: 'search', query: '' } },
    ended: {
      status: 'completed',
      action: { type: 'search', query: 'q', queries: ['q'], sources: [{ type: 'url', url: 'https://a.b/' }] },
    },
    events: progress('web_search_call', 'in_progress', 'searching', 'completed'),
  },
  'file search': {
    prefix: 'fs',
    initial: { type: 'file_search_call', status: 'in_progress', queries: [], results: null },
    ended: {
      status: 'completed',
      queries: ['rain'],
      results: [{ file_id: 'file_1', filename: 'a.md', text: 'Rain.', score: 0.5, attributes: {} }],
    },
    events: progress('file_search_call', 'in_progress', 'searching', 'completed'),
  },
  'code interpreter': {
    prefix: 'ci',
    initial: {
      type: 'code_interpreter_call',
      status: 'in_progress',
      code: '',
      container_id: 'cntr_1',
      outputs: null,
    },
    ended: { status: 'completed', code: '1+1', outputs: [{ type: 'logs', logs: '2' }] },
    events: [
      ['code_interpreter_call.in_progress'],
      ['code_interpreter_call_code.delta', { delta: '1+' }],
      ['code_interpreter_call_code.delta', { delta: '1' }],
      ['code_interpreter_call_code.done', { code: '1+1' }],
      ...progress('code_interpreter_call', 'interpreting', 'completed'),
    ],
  },
  image: {
    prefix: 'ig',
    initial: { type: 'image_generation_call', status: 'in_progress', result: null },
    ended: { status: 'completed', result: 'aGk=', output_format: 'png', size: '1024x1024' },
    events: [
      ...progress('image_generation_call', 'in_progress', 'generating'),
      [
        'image_generation_call.partial_image',
        {
          partial_image_index: 0,
          partial_image_b64: 'aA==',
          size: '1024x1024',
          quality: 'low',
          background: 'opaque',
          output_format: 'png',
        },
      ],
      ['image_generation_call.completed'],
    ],
  },
  'list of MCP tools': {
    prefix: 'mcpl',
    initial: { type: 'mcp_list_tools', server_label: 'shop', tools: [] },
    ended: {
      tools: [{ name: 'buy', input_schema: { type: 'object' }, description: null, annotations: null }],
    },
    events: progress('mcp_list_tools', 'in_progress', 'completed'),
  },
  'MCP call': {
    prefix: 'mcp',
    initial: {
      type: 'mcp_call',
      status: 'in_progress',
      server_label: 'shop',
      name: 'buy',
      arguments: '',
      output: null,
      error: null,
      approval_request_id: null,
    },
    ended: { status: 'completed', arguments: '{"n":1}', output: 'Bought.' },
    events: [
      ['mcp_call.in_progress'],
      ['mcp_call_arguments.delta', { delta: '{"n":1}' }],
      ['mcp_call_arguments.done', { arguments: '{"n":1}' }],
      ['mcp_call.completed'],
    ],
  },
  'MCP approval': {
    prefix: 'mcpr',
    initial: { type: 'mcp_approval_request', server_label: 'shop', name: 'buy', arguments: '{}' },
    ended: {},
    events: [],
  },
  computer: {
    prefix: 'cu',
    initial: {
      type: 'computer_call',
      call_id: 'call_cu',
      status: 'in_progress',
      action: { type: 'screenshot' },
      pending_safety_checks: [],
    },
    ended: { status: 'completed' },
    events: [],
  },
  'local shell': {
    prefix: 'lsh',
    initial: {
      type: 'local_shell_call',
      call_id: 'call_lsh',
      status: 'in_progress',
      action: { type: 'exec', command: ['ls'], env: {} },
    },
    ended: { status: 'completed' },
    events: [],
  },
  shell: {
    prefix: 'sh',
    initial: {
      type: 'shell_call',
      call_id: 'call_sh',
      status: 'in_progress',
      action: { commands: [], timeout_ms: null, max_output_length: null },
      environment: null,
    },
    ended: {
      status: 'completed',
      action: { commands: ['ls'], timeout_ms: null, max_output_length: null },
    },
    events: [
      ['shell_call_command.added', { command_index: 0, command: '' }],
      ['shell_call_command.delta', { command_index: 0, delta: 'ls' }],
      ['shell_call_command.done', { command_index: 0, command: 'ls' }],
    ],
  },
  patch: {
    prefix: 'apc',
    initial: {
      type: 'apply_patch_call',
      call_id: 'call_apc',
      status: 'in_progress',
      operation: { type: 'delete_file', path: 'a.md' },
    },
    ended: { status: 'completed' },
    events: [],
  },
} as const satisfies Record<string, HostedItem>;

/** The same as the scripted model writes it. */
export const hostedStep = ({ prefix, initial, ended, events }: HostedItem): ItemStep => {
  const id = `${prefix}_1`;
  return {
    item: { id, ...initial, ...ended },
    initial: { id, ...initial },
    events: events.map(([type, more]) => ({ type: `response.${type}`, ...more })),
  };
};
