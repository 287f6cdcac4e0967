import { setTimeout as sleep } from 'node:timers/promises';

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  type CallToolResult,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';

type Arguments = Readonly<Record<string, unknown>>;
type Run = (given: Arguments, signal: AbortSignal) => CallToolResult | Promise<CallToolResult>;

interface ToolRow extends Pick<Tool, 'title' | 'description' | 'annotations' | 'outputSchema'> {
  readonly properties?: Record<string, object>;
  readonly required?: string[];
  readonly run: Run;
}

/** One pixel, as a PNG. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const READS = { readOnlyHint: true };
const text = (said: string): CallToolResult => ({ content: [{ type: 'text', text: said }] });

/** Includes names that codex rewrites, and two that it then cannot distinguish. */
const TOOLS: Readonly<Record<string, ToolRow>> = {
  add: {
    description: 'Adds two numbers.',
    annotations: READS,
    properties: { a: { type: 'number', maximum: 1000 }, b: { type: 'number' } },
    required: ['a', 'b'],
    run: ({ a, b }) => text(String(Number(a) + Number(b))),
  },
  picture: {
    description: 'Shows one pixel.',
    annotations: READS,
    run: () => ({
      content: [
        { type: 'text', text: 'here it is' },
        { type: 'image', data: PIXEL, mimeType: 'image/png' },
      ],
    }),
  },
  fail: {
    description: 'Fails, and says so in its result.',
    annotations: READS,
    run: () => ({ ...text('it did not work'), isError: true }),
  },
  slow: {
    description: 'Answers after so many milliseconds.',
    annotations: READS,
    properties: { ms: { type: 'number' } },
    required: ['ms'],
    run: async ({ ms }, signal) => {
      await sleep(Number(ms), undefined, { signal });
      return text('at last');
    },
  },
  crash: {
    description: 'Ends the process of the server in the middle of the call.',
    annotations: READS,
    run: () => process.exit(1),
  },
  note: {
    description: 'Has no annotations.',
    properties: { line: { type: 'string' } },
    required: ['line'],
    run: ({ line }) => text(`noted: ${String(line)}`),
  },
  erase: {
    title: 'Erase it',
    description: 'Says that it destroys something.',
    outputSchema: { type: 'object', properties: { erased: { type: 'boolean' } } },
    annotations: { readOnlyHint: false, destructiveHint: true },
    run: () => ({ ...text('erased'), structuredContent: { erased: true } }),
  },
  'do-it': { description: 'With a hyphen.', annotations: READS, run: () => text('hyphen') },
  'do.it': { description: 'With a dot.', annotations: READS, run: () => text('dot') },
};

/** The names of all tools, in the server's order. */
export const TOOL_NAMES = Object.keys(TOOLS);

/** A server of the official SDK, without a transport. */
export const createToolServer = (): Server => {
  const server = new Server({ name: 'test-tools', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: Object.entries(TOOLS).map(
      ([name, { title, description, annotations, properties = {}, required = [], outputSchema }]) => ({
        name,
        title,
        description,
        annotations,
        inputSchema: { type: 'object', properties, required },
        outputSchema,
      }),
    ),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const tool = TOOLS[params.name];
    if (tool === undefined) throw new Error(`there is no tool ${params.name}`);
    return tool.run(params.arguments ?? {}, signal);
  });
  return server;
};
