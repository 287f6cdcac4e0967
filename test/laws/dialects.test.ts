import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { fold } from '../../src/canonical/events/accumulate.ts';
import { isMessage, isToolCall, wordsOf } from '../../src/canonical/request/item.ts';
import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';
import { BlockScan, readBlock, writeBlock } from '../../src/openai/dialects/use-tool-block.ts';
import { addBlocks, callsFromBlocks } from '../../src/openai/dialects/add-blocks.ts';
import { separateMessages } from '../../src/openai/dialects/dialect.ts';
import { stopAfterTools, type StopRules } from '../../src/openai/dialects/stop-after-tools.ts';
import { arrangeChat } from '../../src/openai/chat/render.ts';
import { arrange } from '../../src/openai/responses/output/layout.ts';
import { checkGrammar } from '../support/grammar.ts';
import { collect, emit, fixedAmbient, turnEvents, withoutItems } from '../support/turn-events.ts';
import { readUseTools } from '../support/use-tool-grammar.ts';

/** Laws of the dialects: events keep their grammar, and blocks match the calls. */

const { clock, ids } = fixedAmbient();
const blocks = { ids, onNativeOnly() {} };

const stopped = (events: readonly TurnEvent[], rules: Partial<StopRules>): AsyncIterable<TurnEvent> =>
  stopAfterTools(
    emit(events),
    { callsAre: 'items', maxCalls: null, graceMs: null, dropsTail: false, ...rules },
    { clock, cancelTurn() {} },
  );

type Transform = (events: readonly TurnEvent[], few: number) => AsyncIterable<TurnEvent>;

const TRANSFORMS: Readonly<Record<string, Transform>> = {
  'blocks in front of calls': (events) => addBlocks(emit(events), blocks),
  'blocks in the layout message-first': (events) =>
    arrange(addBlocks(emit(events), blocks), 'message-first', { ids, showCommentary: true }),
  'blocks in chat': (events) =>
    addBlocks(arrangeChat(emit(events), { showReasoning: true, showCommentary: false }), blocks),
  'blocks that are calls': (events) => callsFromBlocks(emit(events), ids),
  'blank lines between messages': (events) => separateMessages(emit(events)),
  'blank lines between messages with blocks': (events) => separateMessages(addBlocks(emit(events), blocks)),
  'an end behind calls': (events, few) => stopped(events, { maxCalls: few }),
  'an end behind blocks': (events, few) => stopped(events, { callsAre: 'blocks', maxCalls: few }),
  'no text behind calls': (events) => stopped(events, { dropsTail: true }),
  'no text behind blocks': (events) => stopped(events, { callsAre: 'blocks', dropsTail: true }),
  'an end soon behind calls': (events) => stopped(events, { graceMs: 0 }),
  'an end behind calls without text, told as blocks': (events, few) =>
    addBlocks(stopped(events, { maxCalls: few, dropsTail: true }), blocks),
};

describe('the grammar of events', () => {
  it.each(Object.entries(TRANSFORMS))('is kept by %s', async (_, transform) => {
    await fc.assert(
      fc.asyncProperty(turnEvents, fc.integer({ min: 1, max: 3 }), async (events, few) => {
        expect(checkGrammar(await collect(transform(events, few)))).toEqual([]);
      }),
    );
  });
});

describe('blocks before calls', () => {
  it('change only the texts of messages', async () => {
    await fc.assert(
      fc.asyncProperty(turnEvents, async (events) => {
        const reply = await fold(addBlocks(emit(events), blocks));
        const before = await fold(emit(events));
        const others = (items: typeof reply.items) => items.filter((item) => !isMessage(item));
        const byId = (items: typeof reply.items) => items.toSorted((a, b) => (a.id < b.id ? -1 : 1));
        expect(byId(others(reply.items))).toEqual(byId(others(before.items)));
        for (const item of before.items.filter(isMessage)) {
          const now = reply.items.filter(isMessage).find(({ id }) => id === item.id);
          expect(now === undefined ? null : wordsOf(now, 'text').startsWith(wordsOf(item, 'text'))).toBe(
            true,
          );
        }
        expect(reply).toMatchObject({ outcome: before.outcome, usage: before.usage });
      }),
    );
  });

  it('represent every call exactly once, after the text and before the call', async () => {
    const call = fc.record({
      query: fc.oneof(fc.string(), fc.constantFrom('</query>', '[1]', 'a', ' a')),
      terms: fc.array(fc.string(), { maxLength: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 4 }), fc.string(), async (inputs, text) => {
        fc.pre(!text.includes('<'));
        const answer: TurnEvent[] = [
          ...messageEvents('msg_a', text),
          ...inputs.flatMap((input, index) => callEventsOf(`fc_${index}`, JSON.stringify(input))),
          { type: 'turn-ended', outcome: { kind: 'tool-calls' }, usage: null, at: 1 },
        ];
        const native: string[] = [];
        const told = addBlocks(emit(answer), { ids, onNativeOnly: (why) => native.push(why) });
        const { items } = await fold(told);
        const [message, ...calls] = items;
        expect(items.map(({ kind }) => kind)).toEqual(['message', ...inputs.map(() => 'tool-call')]);
        expect(calls.filter(isToolCall).map(({ input }) => JSON.parse(input) as unknown)).toEqual(inputs);
        const shown = inputs.filter(
          (input) =>
            'block' in
            writeBlock({
              kind: 'tool-call',
              tool: 'function',
              callId: 'c',
              name: 'f',
              input: JSON.stringify(input),
            }),
        );
        expect(native).toHaveLength(inputs.length - shown.length);
        const words = message !== undefined && isMessage(message) ? wordsOf(message, 'text') : '';
        expect(readUseTools(words)).toEqual(shown.map((args) => ({ name: 'f', args })));
      }),
    );
  });
});

const messageEvents = (id: string, text: string): TurnEvent[] => {
  const head = { kind: 'message', id, role: 'assistant', parts: [] } as const;
  return [
    { type: 'item-started', item: head },
    { type: 'item-delta', itemId: id, at: 'text', delta: text },
    { type: 'item-ended', item: { ...head, parts: [{ kind: 'text', text }], status: 'completed' } },
  ];
};

const callEventsOf = (id: string, input: string): TurnEvent[] => {
  const head = { kind: 'tool-call', tool: 'function', callId: id, id, name: 'f', input: '' } as const;
  return [
    { type: 'item-started', item: head },
    { type: 'item-delta', itemId: id, at: 'input', delta: input },
    { type: 'item-ended', item: { ...head, input, status: 'completed' } },
  ];
};

describe('blocks that become calls', () => {
  it('do not change the text, delta by delta', async () => {
    await fc.assert(
      fc.asyncProperty(turnEvents, async (events) => {
        const told = await collect(callsFromBlocks(emit(events), ids));
        const others = withoutItems(told, (item) => isToolCall(item) && item.id.includes('minted'));
        expect(others.slice(0, -1)).toEqual(events.slice(0, -1));
      }),
    );
  });

  /** Pieces of valid and invalid blocks. */
  const piece = fc.constantFrom(
    '<use_tool>',
    '</use_tool>',
    '<name>f</name>',
    '<name> g </name>',
    '<q>a</q>',
    '<q>',
    '</q>',
    '<l>["a",1]</l>',
    '<l>[x]</l>',
    '<l><item>a</item><item>[2]</item></l>',
    '<o><k>v</k><n>1</n></o>',
    'text',
    '\n',
    '<',
    '<use_',
    '{',
    '😀',
  );

  it("are those that the client's parser reads, at any split of the text", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), fc.array(fc.nat(9)), (pieces, cuts) => {
        const text = pieces.join('');
        const scan = new BlockScan();
        const inners: (string | null)[] = [];
        let rest = text;
        for (const cut of [...cuts, text.length]) {
          for (const mark of scan.read(rest.slice(0, cut)))
            if (mark.kind === 'closed') inners.push(mark.inner);
          rest = rest.slice(cut);
        }
        inners.push(scan.end());
        const calls = inners.flatMap((inner) => readBlock(inner ?? '') ?? []);
        const read = calls.map(({ name, input }) => ({ name, args: JSON.parse(input) as unknown }));
        expect(read).toEqual(readUseTools(text));
      }),
      { numRuns: 2_000 },
    );
  });
});
