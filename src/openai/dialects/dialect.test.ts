import { describe, expect, it } from 'vitest';

import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { refused } from '../../../test/support/refused.ts';
import { END, messageTold } from '../../../test/support/item-events.ts';
import { collect, emit, fixedAmbient } from '../../../test/support/turn-events.ts';
import { turnRequest, functionTool } from '../../../test/support/turn-request.ts';
import { dialectSettings } from '../../../test/support/dialect-settings.ts';
import { detectClient } from '../../apis/clients/detect-client.ts';
import {
  modeHeader,
  dialectOf,
  type OutputDialect,
  type DialectSettings,
  separateMessages,
} from './dialect.ts';
import { fold } from '../../canonical/events/accumulate.ts';

const OBSIDIAN = { 'dangerously-allow-browser': 'true' };
const TAUGHT = turnRequest({ instructions: 'Call tools with <use_tool>.' });
const TOOLS = turnRequest({ tools: [functionTool('f')] });
const XML = { 'x-proxy-output-mode': 'obsidian-xml' };
const JSON_MODE = { 'x-proxy-output-mode': 'openai-json' };

const dialect = (
  headers: Record<string, string>,
  request = turnRequest(),
  settings: Partial<DialectSettings> = {},
): OutputDialect => {
  const parsed = new Headers(headers);
  const client = detectClient(parsed, request);
  const { ids } = fixedAmbient();
  return dialectOf({ headers: parsed, client, request, settings: dialectSettings(settings), ids });
};

describe('the output mode', () => {
  const mode = (...args: Parameters<typeof dialect>): string => dialect(...args).chosen.mode;

  it('is the one in the header', () => {
    expect(mode(XML, TOOLS)).toBe('obsidian-xml');
    expect(mode({ ...OBSIDIAN, ...JSON_MODE })).toBe('openai-json');
    expect(mode(JSON_MODE, TOOLS, { mode: 'obsidian-xml' })).toBe('openai-json');
  });

  it('depends on the client without a header: blocks without tools, never with tools', () => {
    expect(mode(OBSIDIAN)).toBe('obsidian-xml');
    expect(mode({}, TAUGHT)).toBe('obsidian-xml');
    expect(mode(OBSIDIAN, TOOLS)).toBe('openai-json');
    expect(mode(OBSIDIAN, TOOLS, { mode: 'obsidian-xml' })).toBe('openai-json');
  });

  it('is the configured one for other clients', () => {
    expect(mode({})).toBe('openai-json');
    expect(mode({}, TOOLS, { mode: 'obsidian-xml' })).toBe('obsidian-xml');
    expect(mode({ 'x-stainless-lang': 'js' }, TOOLS, { mode: 'obsidian-xml' })).toBe('obsidian-xml');
  });

  it('is rejected if it does not exist', () => {
    expect(refused(() => dialect({ 'x-proxy-output-mode': 'xml' }))).toMatchObject({
      status: 400,
      code: 'invalid_value',
      param: 'x-proxy-output-mode',
      message: "Invalid value: 'xml'. Supported values are: 'openai-json' and 'obsidian-xml'.",
    });
  });

  it('is in the response headers if requested or not the default', () => {
    expect(modeHeader(dialect({}).chosen)).toEqual({});
    expect(modeHeader(dialect(JSON_MODE).chosen)).toEqual(JSON_MODE);
    expect(modeHeader(dialect(OBSIDIAN).chosen)).toEqual(XML);
  });
});

describe('the early end', () => {
  it('applies to obsidian-xml only', () => {
    const settings = { stopAfterTools: 'first', suppressTail: true } as const;
    expect(dialect({}, TOOLS, settings).stop).toBeNull();
    const rules = { maxCalls: 1, graceMs: null, dropsTail: true };
    expect(dialect(XML, TOOLS, settings).stop).toEqual({ ...rules, callsAre: 'items' });
    expect(dialect(OBSIDIAN, TAUGHT, settings).stop).toEqual({ ...rules, callsAre: 'blocks' });
  });

  it('is off by default', () => {
    expect(dialect(XML, TOOLS).stop).toBeNull();
  });

  it('depends on the number of blocks, or on the time without another call', () => {
    expect(dialect(XML, TOOLS, { toolBlockMax: 3 }).stop).toMatchObject({ maxCalls: 3, graceMs: null });
    expect(dialect(XML, TOOLS, { toolBlockMax: 3, stopAfterTools: 'burst' }).stop).toMatchObject({
      maxCalls: 3,
      graceMs: 300,
    });
  });
});

describe('the text of a model whose prompt asks for blocks', () => {
  const text =
    'Let me see.\n<use_tool><name>f</name><q>a & b</q></use_tool> and <use_tool><name>g</name><l>[1]</l>';
  const events = [...messageTold('msg_1', text), END];
  const emitted = ({ transform }: OutputDialect): Promise<TurnEvent[]> => collect(transform(emit(events)));

  it('is passed through', async () => {
    expect(await emitted(dialect(OBSIDIAN, TAUGHT))).toEqual(events);
    expect(await emitted(dialect({}, TAUGHT))).toEqual(events);
    // The prompt does not ask for blocks.
    expect(await emitted(dialect(XML))).toEqual(events);
  });

  it('also becomes calls if requested, even for an unclosed block', async () => {
    const all = await emitted(dialect(XML, TAUGHT));
    expect(all.slice(0, 3)).toEqual(events.slice(0, 3));
    expect(all.flatMap((event) => (event.type === 'item-ended' ? [event.item] : [])).slice(1)).toEqual([
      {
        kind: 'tool-call',
        id: 'fc_minted1',
        tool: 'function',
        callId: 'call_minted2',
        name: 'f',
        input: '{"q":"a & b"}',
        status: 'completed',
      },
      {
        kind: 'tool-call',
        id: 'fc_minted3',
        tool: 'function',
        callId: 'call_minted4',
        name: 'g',
        input: '{"l":[1]}',
        status: 'completed',
      },
    ]);
    expect(all.at(-1)).toMatchObject({ outcome: { kind: 'tool-calls' } });
  });
});

describe('separateMessages', () => {
  const cited = (at: number) => ({ type: 'url_citation', start_index: at, end_index: at + 1 });

  const message = (id: string, text: string): readonly TurnEvent[] => {
    const head = { kind: 'message', id, role: 'assistant', parts: [] } as const;
    return [
      { type: 'item-started', item: head },
      ...Array.from(text).map((delta): TurnEvent => ({ type: 'item-delta', itemId: id, at: 'text', delta })),
      { type: 'item-delta', itemId: id, at: 'text', delta: '', annotation: cited(0) },
      {
        type: 'item-ended',
        item: { ...head, parts: [{ kind: 'text', text, annotations: [cited(0)] }], status: 'completed' },
      },
    ];
  };

  it('puts a blank line between messages with text, and shifts the positions of citations', async () => {
    const turn = [
      ...message('a', ''),
      ...message('b', 'One.'),
      ...message('c', 'Two.'),
      ...message('d', '3'),
    ];
    const end: TurnEvent = { type: 'turn-ended', outcome: { kind: 'completed' }, usage: null, at: 1 };
    const { items } = await fold(separateMessages(emit([...turn, end])));
    expect(items.map((item) => (item.kind === 'message' ? item.parts : []))).toEqual([
      [{ kind: 'text', text: '', annotations: [cited(0)] }],
      [{ kind: 'text', text: 'One.', annotations: [cited(0)] }],
      [{ kind: 'text', text: '\n\nTwo.', annotations: [cited(2)] }],
      [{ kind: 'text', text: '\n\n3', annotations: [cited(2)] }],
    ]);
  });
});
