import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { atOnce } from '../../src/kit/async/event-loop.ts';
import { fold, type Reply } from '../../src/canonical/events/accumulate.ts';
import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';
import {
  isToolCall,
  partsOf,
  withParts,
  type Item,
  type Produced,
} from '../../src/canonical/request/item.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import {
  INCLUDABLE,
  projectStoredItem,
  projectStoredResponse,
} from '../../src/openai/responses/output/project-stored.ts';
import { arrange, type Layout } from '../../src/openai/responses/output/layout.ts';
import { projectReply } from '../../src/openai/responses/output/project.ts';
import {
  readStoredTurn,
  sentItems,
  storedItems,
  turnBody,
  type StoredTurn,
} from '../../src/features/state/stored-turn.ts';
import { responseMeta } from '../support/response-meta.ts';
import { read } from '../support/responses-ask.ts';
import { sentFor } from '../support/read-and-sent.ts';
import { runs } from '../support/runs.ts';
import { validateOpenai } from '../support/schema.ts';
import { emit, fixedAmbient, turnEvents } from '../support/turn-events.ts';
import { without } from './exact-differences.ts';
import { conversation } from './exact-items.ts';

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
const KEY = '0123456789abcdef0123456789abcdef';

/** What the store returns of a turn. */
const stored = (turn: StoredTurn): StoredTurn =>
  atOnce(readStoredTurn({ key: KEY, body: JSON.stringify(turnBody(turn)) }));

/** Only whole items are sent back to the model. */
const isWhole = (item: Item): boolean =>
  item.kind === 'message' || !('status' in item) || item.status !== 'incomplete';

const outputOf = ({ tool, callId }: Extract<Item, { kind: 'tool-call' }>): JsonObject => ({
  type: tool === 'function' ? 'function_call_output' : 'custom_tool_call_output',
  call_id: callId,
  output: 'x',
});

/** One request and its answer: the items that the client sends for it, and the model's answer. */
interface Exchange {
  readonly input: readonly JsonObject[];
  readonly answer: readonly TurnEvent[];
}

const exchanges: fc.Arbitrary<readonly Exchange[]> = fc.array(
  fc.record({ input: conversation, answer: turnEvents }),
  { minLength: 1, maxLength: 4 },
);

describe('a stored conversation', () => {
  it('gives the model the same request, byte for byte, as sending all of it', async () => {
    let sent = 0;
    await fc.assert(
      fc.asyncProperty(exchanges, conversation, async (earlier, last) => {
        const chain: Item[] = [];
        const history: unknown[] = [];
        let open: readonly JsonObject[] = [];
        for (const { input, answer } of earlier) {
          const own = [...open, ...input];
          const { items } = await fold(emit(answer));
          const { output } = projectReply(
            { items: items.filter(isWhole), outcome: { kind: 'completed' }, usage: null, endedAt: 0 },
            responseMeta({ includeEncryptedReasoning: true }),
          );
          const { input: parsed } = read({ model: 'gpt-5.5', input: own }, { chain });
          chain.push(...sentItems(KEY, stored({ input: parsed, output: items })));
          history.push(...own, ...(asJson(output) as readonly unknown[]));
          open = items.filter(isToolCall).filter(isWhole).map(outputOf);
        }
        const next = [...open, ...last];
        const whole = sentFor(() => read({ model: 'gpt-5.5', input: [...history, ...next] }));
        const short = sentFor(() => {
          const continued = read(
            { model: 'gpt-5.5', input: next, previous_response_id: 'resp_1' },
            { chain },
          );
          // The places of unread fields differ with the input.
          return { ...continued, ignored: [] };
        });
        if (whole.kind === 'sent') sent += 1;
        expect(JSON.stringify(short.kind === 'sent' ? short.body : short.message)).toBe(
          JSON.stringify(whole.kind === 'sent' ? whole.body : whole.message),
        );
      }),
      { numRuns: runs(100) },
    );
    expect(sent).toBeGreaterThan(runs(60));
  });

  it('shows every input item in a form that gives the same item when it is sent', () => {
    fc.assert(
      fc.property(conversation, (input) => {
        const { input: items } = read({ model: 'gpt-5.5', input });
        const turn = stored({ input: items, output: [] });
        expect(turn.input).toEqual(items);
        const shown = storedItems(KEY, turn).map((entry) => projectStoredItem(entry, new Set(INCLUDABLE)));
        expect(new Set(shown.map(({ id }) => id)).size).toBe(shown.length);
        const again = read({ model: 'gpt-5.5', input: asJson(shown) }).input;
        expect(again.map(comparable)).toEqual(items.map(comparable));
      }),
      { numRuns: runs(100) },
    );
  });

  it('shows every item as the API describes it', async () => {
    await fc.assert(
      fc.asyncProperty(conversation, turnEvents, async (input, answer) => {
        const { input: items } = read({ model: 'gpt-5.5', input });
        const { items: output } = await fold(emit(answer));
        for (const include of [[], INCLUDABLE]) {
          for (const [index, entry] of storedItems(KEY, stored({ input: items, output })).entries()) {
            const shown = asJson(projectStoredItem(entry, new Set(include)));
            expect(shown).toMatchObject({ id: entry.id, type: expect.any(String) });
            if (!isBeyondTheDocument(entry.item, items.length > index)) {
              expect({ shown, problems: validateOpenai('ItemResource', shown) }).toEqual({
                shown,
                problems: [],
              });
            }
          }
        }
      }),
      { numRuns: runs(70) },
    );
  });
});

/** An item without its id, which is ours, and without what the API adds or does not have. */
const comparable = (item: Item): unknown => {
  const { parts } = partsOf(item);
  const shown = parts.map((part) =>
    part.kind === 'image' ? { ...part, detail: part.detail ?? 'auto' } : part,
  );
  const whole = parts.length === 0 ? item : withParts(item, shown);
  if ('raw' in whole)
    return { ...without(whole as unknown as JsonObject, 'id'), raw: without(whole.raw, 'id', 'status') };
  const empty = whole.kind === 'reasoning' && whole.content?.length === 0 ? ['content'] : [];
  return without(whole as unknown as JsonObject, 'id', 'notes', ...empty);
};

/** OpenAI's document has no type for these, or they are what the client sent. */
const isBeyondTheDocument = (item: Item, isInput: boolean): boolean =>
  partsOf(item).parts.some(({ kind }) => kind === 'audio') ||
  item.kind === 'opaque' ||
  (isInput && 'raw' in item);

describe('a stored response', () => {
  const layouts = fc.constantFrom<Layout[]>('message-first', 'natural');

  it('is the object that its creation gave, to the byte, with the same include', async () => {
    await fc.assert(
      fc.asyncProperty(turnEvents, layouts, fc.boolean(), async (events, layout, isEncrypted) => {
        const include = isEncrypted ? (['reasoning.encrypted_content'] as const) : [];
        const shown = { ids: fixedAmbient().ids, showCommentary: true };
        const reply: Reply = await fold(arrange(emit(events), layout, shown));
        const created = projectReply(reply, responseMeta({ includeEncryptedReasoning: isEncrypted }));
        const object = asJson({ ...created, output: [] }) as JsonObject;
        const items = asJson(reply.items) as readonly Produced[];
        const again = projectStoredResponse({ object, items, include }, new Set(include));
        expect(JSON.stringify(again)).toBe(JSON.stringify(created));
      }),
      { numRuns: runs(100) },
    );
  });
});
