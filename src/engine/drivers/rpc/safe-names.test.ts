import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { collect, emit } from '../../../../test/support/turn-events.ts';
import { functionTool, turnRequest } from '../../../../test/support/turn-request.ts';
import type { Item, Produced } from '../../../canonical/request/item.ts';
import type { TurnEvent } from '../../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import { wholeHistory } from '../../../codex/translate/fit-history.ts';
import { isReservedToolName, safeNames } from './safe-names.ts';

const call = (name: string, more: Partial<Item> = {}): Item =>
  ({ kind: 'tool-call', tool: 'function', callId: `c_${name}`, name, input: '{}', ...more }) as Item;
const started = (name: string): TurnEvent => ({
  type: 'item-started',
  item: { ...call(name), id: name } as Produced,
});

/** The request that goes on. */
const sentFor = (request: TurnRequest): TurnRequest => safeNames(request).renamed(request);

describe('safeNames', () => {
  it('replaces reserved names everywhere in a request', () => {
    const taken = { kind: 'function', name: 'mcp__x' } as const;
    const request = turnRequest({
      tools: [functionTool('mcp__x'), functionTool('tool_mcp__x'), functionTool('f')],
      toolChoice: { mode: 'allowed', required: false, tools: [taken, { kind: 'function', name: 'f' }] },
      items: [call('mcp__x'), call('exec_command'), call('mcp', { namespace: 'n' }), call('f')],
    });
    const other = sentFor(request);
    expect(other).toEqual({
      ...request,
      tools: [functionTool('tool2_mcp__x'), functionTool('tool_mcp__x'), functionTool('f')],
      toolChoice: {
        mode: 'allowed',
        required: false,
        tools: [
          { kind: 'function', name: 'tool2_mcp__x' },
          { kind: 'function', name: 'f' },
        ],
      },
      items: [
        { ...call('mcp__x'), name: 'tool2_mcp__x' },
        { ...call('exec_command'), name: 'tool2_exec_command' },
        call('mcp', { namespace: 'n' }),
        call('f'),
      ],
    });
    const named = { ...request, toolChoice: { mode: 'named', tool: taken } as const };
    expect(sentFor(named).toolChoice).toEqual({
      mode: 'named',
      tool: { kind: 'function', name: 'tool2_mcp__x' },
    });
  });

  it('does not change a request without reserved names', () => {
    const request = turnRequest({ tools: [functionTool('f')], items: [call('g')] });
    const history = wholeHistory(request.items);
    const events = emit([]);
    const names = safeNames(request);
    expect([names.renamed(request), names.renamedHistory(history), names.shown(events)]).toEqual([
      request,
      history,
      events,
    ]);
    expect(names.renamedHistory(history)).toBe(history);
  });

  it('replaces them in a conversation with restored reasoning too', () => {
    const reasoning: Item = { kind: 'reasoning', summary: ['why'] };
    const restored = { items: [reasoning, call('mcp')], places: [null, 0] };
    expect(safeNames(turnRequest({ items: [call('mcp')] })).renamedHistory(restored)).toEqual({
      items: [reasoning, { ...call('mcp'), name: 'tool_mcp' }],
      places: [null, 0],
    });
  });

  const name = fc.oneof(
    fc.constantFrom('mcp', 'exec_command', 'shell_command', 'tool_mcp', 'tool2_mcp', 'tool_exec_command'),
    fc.stringMatching(/^[a-z_]{1,6}$/).map((end) => `mcp__${'x'.repeat(56)}${end}`.slice(0, 64)),
    fc.stringMatching(/^[a-z_]{1,8}$/),
  );

  it('gives each name a unique replacement, and restores it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(name, { maxLength: 12 }), fc.array(name), async (tools, called) => {
        const request = turnRequest({
          tools: tools.map((one) => functionTool(one)),
          items: called.map((one) => call(one)),
        });
        const sent = sentFor(request);
        const names = sent.tools.map((tool) => ('name' in tool ? tool.name : ''));
        expect(new Set(names).size).toBe(tools.length);
        for (const one of names) expect([isReservedToolName(one), one.length <= 64]).toEqual([false, true]);
        const back = await collect(safeNames(request).shown(emit(names.map(started))));
        expect(
          back.map(
            (event) => event.type === 'item-started' && event.item.kind === 'tool-call' && event.item.name,
          ),
        ).toEqual(tools);
      }),
    );
  });

  it("is done soon, however many names are in each other's way", () => {
    const long = Array.from({ length: 10_000 }, (_, index) => call(`mcp__${'x'.repeat(60)}${index}`));
    const sent = sentFor(turnRequest({ items: long }));
    expect(new Set(sent.items.map((item) => (item.kind === 'tool-call' ? item.name : ''))).size).toBe(10_000);
  });
});

it('knows the tool names that codex reserves', () => {
  const names = [
    'mcp',
    'mcp__',
    'mcp__x__y',
    'exec_command',
    'shell_command',
    'mcp_x',
    'MCP',
    'exec',
    'shell',
  ];
  expect(names.map(isReservedToolName)).toEqual([true, true, true, true, true, false, false, false, false]);
});
