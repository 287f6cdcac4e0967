import type { JsonObject } from '../src/kit/json/json.ts';
import { compareTimes, firstDeltas, ms, ratioOf, SHORT, type Row, type Sides } from './rows.ts';
import { median } from './statistics.ts';
import type { Ask, Tool } from './workload.ts';

/** A schema of about 2 KB. */
const toolOf = (index: number): Tool => ({
  name: `tool_${index}`,
  description: 'One of many tools, of which the model needs one at the most.',
  parameters: {
    type: 'object',
    properties: Object.fromEntries(
      Array.from({ length: 16 }, (_, field) => [
        `field_${field}`,
        { type: 'string', description: 'What this field means, in a sentence as people write them.' },
      ]),
    ),
    required: ['field_0'],
    additionalProperties: false,
  },
});

const MANY_TOOLS: readonly Tool[] = Array.from({ length: 128 }, (_, index) => toolOf(index));

/** A conversation of 50 rounds with a tool, 200 KB in all. */
const LONG_HISTORY: readonly JsonObject[] = Array.from({ length: 50 }, (_, round) => round).flatMap(
  (round): readonly JsonObject[] => [
    {
      type: 'function_call',
      call_id: `call_${round}`,
      name: 'tool_0',
      arguments: JSON.stringify({ field_0: `round ${round}` }),
    },
    { type: 'function_call_output', call_id: `call_${round}`, output: 'A line of a file. '.repeat(222) },
  ],
);

/** A tool round late in a conversation: both sides send all of it. */
export const toolRound = async ({ bare, proxy }: Sides, samples: number): Promise<Row> => {
  const ask: Ask = { ...SHORT, tools: MANY_TOOLS.slice(0, 1), history: LONG_HISTORY };
  await Promise.all([bare.run(ask), proxy.run(ask)]);
  const times = await firstDeltas({ bare: () => bare.run(ask), proxy: () => proxy.run(ask) }, samples);
  const [ours, theirs] = [median(times.proxy), median(times.bare)];
  return {
    figure: 'a tool round with a history of 200 KB: time to first text delta, p50',
    bare: ms(theirs),
    proxy: ms(ours),
    ratio: ratioOf(ours / theirs),
    target: '≤ 1',
    reached: ours <= theirs,
    numbers: { samples, bareMs: theirs, proxyMs: ours, ratio: ours / theirs },
  };
};

const MANY_TOOLS_GOAL = { maxAddedMs: 3 };

/** Many tools compared with the bare app-server, and what they add to a turn on either side. */
export const manyTools = async ({ bare, proxy }: Sides, samples: number): Promise<readonly Row[]> => {
  const ask: Ask = { ...SHORT, tools: MANY_TOOLS };
  await Promise.all([bare.run(ask), proxy.run(ask)]);
  const times = await firstDeltas({ bare: () => bare.run(ask), proxy: () => proxy.run(ask) }, samples);
  const plain = await firstDeltas({ bare: () => bare.run(SHORT), proxy: () => proxy.run(SHORT) }, samples);
  const [ours, theirs] = [median(times.proxy), median(times.bare)];
  const added = { bare: theirs - median(plain.bare), proxy: ours - median(plain.proxy) };
  return [
    {
      figure: '128 tools of 2 KB: time to first text delta, p50',
      bare: ms(theirs),
      proxy: ms(ours),
      ...compareTimes(ours, theirs, MANY_TOOLS_GOAL),
      numbers: { samples, bareMs: theirs, proxyMs: ours },
    },
    {
      figure: '  of which the tools add',
      bare: ms(added.bare),
      proxy: ms(added.proxy),
      ratio: '',
      target: '',
      reached: true,
      numbers: { bareMs: added.bare, proxyMs: added.proxy },
    },
  ];
};

const AGENT_GOAL = { maxAddedMs: 1 };

/** The first request of a coding agent through two APIs of the proxy: 24 tools, 48 KB in all. */
export const agentRequest = async ({ bare, proxy }: Sides, samples: number): Promise<Row> => {
  const ask: Ask = { ...SHORT, instructions: 'You are a coding agent.', tools: MANY_TOOLS.slice(0, 24) };
  for (const side of [bare, proxy, bare, proxy]) await side.run(ask);
  const times = await firstDeltas({ bare: () => bare.run(ask), proxy: () => proxy.run(ask) }, samples);
  const [ours, theirs] = [median(times.proxy), median(times.bare)];
  return {
    figure: `${proxy.name} vs. ${bare.name}: 24 tools of 2 KB, time to first text delta, p50`,
    bare: ms(theirs),
    proxy: ms(ours),
    ...compareTimes(ours, theirs, AGENT_GOAL),
    numbers: { samples, bareMs: theirs, proxyMs: ours },
  };
};

const MCP_GOAL = { maxAddedMs: 10 };

/** A turn with an HTTP MCP server compared with the bare app-server, and one call of it. */
export const mcpServer = async (
  { bare, proxy }: Sides,
  url: string,
  samples: number,
): Promise<readonly Row[]> => {
  const rows: Row[] = [];
  for (const isCalled of [false, true]) {
    const ask: Ask = { ...SHORT, mcp: { url, isCalled } };
    for (const side of [bare, proxy, bare, proxy]) await side.run(ask);
    const times = await firstDeltas({ bare: () => bare.run(ask), proxy: () => proxy.run(ask) }, samples);
    const [ours, theirs] = [median(times.proxy), median(times.bare)];
    rows.push({
      figure: `an HTTP MCP server${isCalled ? ' and a call of it' : ''}: time to first text delta, p50`,
      bare: ms(theirs),
      proxy: ms(ours),
      ...compareTimes(ours, theirs, MCP_GOAL),
      numbers: { samples, bareMs: theirs, proxyMs: ours },
    });
  }
  return rows;
};
