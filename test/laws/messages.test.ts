import { MessageStream } from '@anthropic-ai/sdk/lib/MessageStream';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { messagesToTurn } from '../../src/anthropic/messages/input/to-turn.ts';
import { arrangeMessage } from '../../src/anthropic/messages/api.ts';
import { type MessagesMeta, projectMessage } from '../../src/anthropic/messages/output/project.ts';
import { renderMessage } from '../../src/anthropic/messages/output/render.ts';
import { toolInput } from '../../src/anthropic/messages/output/blocks.ts';
import { readReasoning } from '../../src/anthropic/messages/reasoning/thinking-block.ts';
import { encodeFrame } from '../../src/apis/sse.ts';
import { fold } from '../../src/canonical/events/accumulate.ts';
import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';
import { createModelNames } from '../../src/canonical/models/model-names.ts';
import { isReasoning, isToolCall, type Item } from '../../src/canonical/request/item.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { TextSigner } from '../../src/store/text-signer.ts';
import { modelList } from '../support/models.ts';
import { readSse } from '../support/sse.ts';
import { collect, emit, turnEvents } from '../support/turn-events.ts';

const signer = new TextSigner([new Uint8Array(32)]);
const models = createModelNames(modelList([]));

const metas: fc.Arbitrary<MessagesMeta> = fc
  .constantFrom<MessagesMeta['thinking'][]>('summarized', 'omitted', null)
  .map((thinking) => ({ id: 'msg_1', model: 'm', thinking }));

interface Data extends JsonObject {
  readonly type: string;
}

const asJson = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;

/** The JSON answer, as a client reads it. */
const body = async (events: readonly TurnEvent[], meta: MessagesMeta) =>
  asJson(projectMessage(await fold(arrangeMessage(emit(events), meta)), meta, signer));

/** The events of the stream, as a client reads them. */
const stream = async (events: readonly TurnEvent[], meta: MessagesMeta): Promise<readonly Data[]> => {
  const frames = await collect(renderMessage(arrangeMessage(emit(events), meta), meta, signer));
  const read = await collect(readSse(frames.map(encodeFrame).join('')));
  return read.map(({ event, data }) => {
    const parsed = JSON.parse(data) as Data;
    expect(event).toBe(parsed.type);
    return parsed;
  });
};

/** The message that Anthropic's SDK makes of a stream, without the fields that it adds. */
const folded = async (all: readonly Data[]) => {
  const lines = new Blob(all.map((data) => `${JSON.stringify(data)}\n`)).stream();
  const {
    parsed_output: _,
    content,
    ...message
  } = await MessageStream.fromReadableStream(lines).finalMessage();
  return asJson({ ...message, content: content.map((block) => ({ ...block, parsed_output: undefined })) });
};

const hasFailed = (events: readonly TurnEvent[]): boolean => {
  const last = events.at(-1);
  return last?.type === 'turn-ended' && last.outcome.kind === 'failed';
};

/** A stream ends with an error at a call whose arguments cannot be read, unless they are not even the start of an object. */
const hasBrokenCall = (events: readonly TurnEvent[]): boolean =>
  events.some(
    (event) =>
      event.type === 'item-ended' &&
      isToolCall(event.item) &&
      (toolInput(event.item) === null ||
        (/^[ \t\n\r]*\{/.test(event.item.input) && 'arguments' in (toolInput(event.item) ?? {}))),
  );

describe('law C: the message that the SDK reads from a stream equals the JSON answer', () => {
  it('holds for any turn that ends well', async () => {
    await fc.assert(
      fc.asyncProperty(turnEvents, metas, async (events, meta) => {
        fc.pre(!hasFailed(events) && !hasBrokenCall(events));
        expect(await folded(await stream(events, meta))).toEqual(await body(events, meta));
      }),
      { numRuns: 600 },
    );
  });
});

describe('the events of a stream', () => {
  it('are one block after the other, and end with message_stop or with one error', async () => {
    await fc.assert(
      fc.asyncProperty(turnEvents, metas, async (events, meta) => {
        const all = await stream(events, meta);
        const isBroken = hasFailed(events) || hasBrokenCall(events);
        expect(all[0]?.type).toBe('message_start');
        expect(all.slice(isBroken ? -1 : -2).map(({ type }) => type)).toEqual(
          isBroken ? ['error'] : ['message_delta', 'message_stop'],
        );
        let open: unknown = null;
        let next = 0;
        for (const { type, index } of all.slice(1, isBroken ? -1 : -2)) {
          if (type === 'content_block_start') {
            expect([open, index]).toEqual([null, next]);
            open = index;
            next += 1;
            continue;
          }
          expect(['content_block_delta', 'content_block_stop']).toContain(type);
          expect(index).toBe(open);
          if (type === 'content_block_stop') open = null;
        }
        if (!isBroken) expect(open).toBe(null);
      }),
      { numRuns: 300 },
    );
  });
});

/** What identifies an item. Adjacent texts are one message in a request. */
const mark = (item: Item): string => {
  if (isReasoning(item)) return JSON.stringify(item);
  if (isToolCall(item)) return item.callId;
  return item.kind === 'message' ? 'text' : (item.id ?? item.kind);
};
const marks = (items: readonly Item[]): readonly string[] =>
  items.map(mark).filter((one, at, all) => one !== 'text' || all[at - 1] !== 'text');

describe('law D: an answer that a client sends back', () => {
  const sentBack = (content: readonly JsonObject[]) => {
    const results = content
      .filter(({ type }) => type === 'tool_use')
      .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'x' }));
    const { request } = messagesToTurn(
      {
        model: 'm',
        max_tokens: 1,
        messages: [
          { role: 'user', content: 'Hi.' },
          { role: 'assistant', content },
          { role: 'user', content: [...results, { type: 'text', text: 'Go on.' }] },
        ],
      },
      {
        models,
        ignoreClientPrompt: false,
        isCount: false,
        readReasoning: (block) => readReasoning(block, signer),
      },
    );
    return request.items.slice(1, -1).filter(({ kind }) => kind !== 'tool-output');
  };

  it('has the same reasoning items in their places, byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(turnEvents, metas, async (events, meta) => {
        fc.pre(!hasFailed(events));
        const { content } = await body(events, meta);
        fc.pre(content.length > 0);
        const { items } = await fold(arrangeMessage(emit(events), meta));
        const shown = items.filter((item) => {
          if (isToolCall(item)) return toolInput(item) !== null;
          return item.kind !== 'message' || item.parts.some((part) => 'text' in part && part.text !== '');
        });
        const back = sentBack(content as readonly JsonObject[]);
        expect(back.filter(isReasoning)).toEqual(items.filter(isReasoning).map(asJson));
        expect(marks(back).map(ordered)).toEqual(marks(shown).map(ordered));
      }),
      { numRuns: 600 },
    );
  });

  it('has no reasoning whose signature was changed', async () => {
    const texts = fc.array(fc.string({ unit: 'binary' }), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(texts, fc.nat(), fc.string({ minLength: 1 }), async (summary, at, instead) => {
        const item = {
          kind: 'reasoning',
          id: 'rs_1',
          summary,
          encryptedContent: 'gAAA',
          origin: 'here',
        } as const;
        const events: TurnEvent[] = [
          { type: 'item-started', item: { kind: 'reasoning', id: 'rs_1', summary: [] } },
          { type: 'item-ended', item },
          { type: 'turn-ended', outcome: { kind: 'completed' }, usage: null, at: 0 },
        ];
        const meta = { id: 'msg_1', model: 'm', thinking: 'summarized' } as const;
        const [block] = (await body(events, meta)).content as readonly JsonObject[];
        if (block === undefined) throw new Error('the reasoning is missing');
        const name = 'data' in block ? 'data' : 'signature';
        const text = block[name];
        if (typeof text !== 'string') throw new Error('the signature is missing');
        const cut = at % text.length;
        const changed = text.slice(0, cut) + instead + text.slice(cut + 1);
        fc.pre(changed !== text);
        expect(readReasoning(block, signer)).toEqual(item);
        expect(readReasoning({ ...block, [name]: changed }, signer)).toBe(null);
      }),
    );
  });
});

/** The same JSON with sorted keys: the order of the fields of an item has no meaning. */
function ordered(text: string): string {
  if (!text.startsWith('{')) return text;
  const entries = Object.entries(JSON.parse(text) as JsonObject);
  return JSON.stringify(Object.fromEntries(entries.toSorted(([a], [b]) => a.localeCompare(b))));
}
