import * as fc from 'fast-check';
import { accumulateResponse } from 'openai/lib/responses/ResponseAccumulator';
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses';
import { describe, expect, it } from 'vitest';

import { fold } from '../../src/canonical/events/accumulate.ts';
import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';
import { arrange, type Layout } from '../../src/openai/responses/output/layout.ts';
import { projectReply } from '../../src/openai/responses/output/project.ts';
import { renderResponse } from '../../src/openai/responses/output/render.ts';
import { encodeFrame } from '../../src/apis/sse.ts';
import type { Frame } from '../../src/turns/api.ts';
import { responseMeta } from '../support/response-meta.ts';
import { validateResponse, validateStreamEvent } from '../support/schema.ts';
import { readSse } from '../support/sse.ts';
import { collect, emit, fixedAmbient, turnEvents, withoutItems } from '../support/turn-events.ts';

type Body = ReturnType<typeof projectReply>;
type Wire = Record<string, unknown> & { type: string; sequence_number: number };

const meta = responseMeta();

/** OpenAI's schema has all its item types, but not ours. */
const knownItems = turnEvents.map((events) =>
  withoutItems(events, (item) => item.kind === 'opaque' && item.raw.type === 'something_new'),
);

const layouts = fc.constantFrom<Layout[]>('message-first', 'natural');

const arranged = (events: readonly TurnEvent[], layout: Layout): AsyncIterable<TurnEvent> =>
  arrange(emit(events), layout, { ids: fixedAmbient().ids, showCommentary: true });

const stream = (events: readonly TurnEvent[], layout: Layout): Promise<Frame[]> => {
  return collect(renderResponse(arranged(events, layout), meta));
};

const body = async (events: readonly TurnEvent[], layout: Layout): Promise<Body> =>
  projectReply(await fold(arranged(events, layout)), meta);

/** The frames as a client sees them: encoded, decoded, without `[DONE]`. */
const wireEvents = async (frames: readonly Frame[]): Promise<Wire[]> => {
  const read = await collect(readSse(frames.map(encodeFrame).join('')));
  return read.filter((frame) => frame.data !== '[DONE]').map((frame) => JSON.parse(frame.data) as Wire);
};

const isTerminal = (event: Wire): boolean =>
  ['response.completed', 'response.incomplete', 'response.failed', 'error'].includes(event.type);

describe('law A: the stream, assembled by the SDK, equals the JSON answer', () => {
  it('holds for any turn in both layouts', async () => {
    await fc.assert(
      fc.asyncProperty(turnEvents, layouts, async (events, layout) => {
        const answer = JSON.parse(JSON.stringify(await body(events, layout))) as Body;
        const wire = await wireEvents(await stream(events, layout));
        let snapshot: Response | undefined;
        for (const event of wire.filter((one) => !isTerminal(one))) {
          snapshot = accumulateResponse(event as unknown as ResponseStreamEvent, snapshot);
        }
        // Without the last event, which contains the whole response and would hide any gap.
        expect(snapshot?.output).toEqual(answer.output);
        const last = wire.at(-1) as unknown as { response: Body };
        expect(last.response).toEqual(answer);
      }),
      { numRuns: 400 },
    );
  });
});

describe('law B: joined deltas equal the done event and the final item', () => {
  it('holds for any turn, with consecutive sequence numbers', async () => {
    await fc.assert(
      fc.asyncProperty(turnEvents, layouts, async (events, layout) => {
        const wire = await wireEvents(await stream(events, layout));
        expect(wire.map((event) => event.sequence_number)).toEqual(wire.map((_, index) => index));
        const joined = new Map<string, string>();
        const key = (event: Wire, family: string): string =>
          [family, event['item_id'], event['content_index'] ?? event['summary_index']].join(' ');
        for (const event of wire) {
          const family =
            /^response\.(output_text|function_call_arguments|reasoning_summary_text|reasoning_text)\.(delta|done)$/.exec(
              event.type,
            );
          if (family === null) continue;
          const name = key(event, family[1] ?? '');
          if (family[2] === 'delta') joined.set(name, (joined.get(name) ?? '') + String(event['delta']));
          else expect(joined.get(name) ?? '').toBe(event['text'] ?? event['arguments']);
        }
        const done = wire.filter((event) => event.type === 'response.output_item.done');
        const last = wire.at(-1) as unknown as { response: Body };
        const byIndex = done.toSorted((a, b) => Number(a['output_index']) - Number(b['output_index']));
        expect(byIndex.map((event) => event['item'])).toEqual(last.response.output);
        expect(byIndex.map((event) => event['output_index'])).toEqual(
          last.response.output.map((_, index) => index),
        );
      }),
      { numRuns: 400 },
    );
  });
});

describe('every event and every body', () => {
  it("matches OpenAI's schema", async () => {
    await fc.assert(
      fc.asyncProperty(knownItems, layouts, async (events, layout) => {
        const wire = await wireEvents(await stream(events, layout));
        const problems = wire.flatMap((event) => validateStreamEvent(event));
        expect([...problems, ...validateResponse(await body(events, layout))]).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });
});

describe('message-first', () => {
  it('has one message at index 0, before everything else, and no reasoning', async () => {
    await fc.assert(
      fc.asyncProperty(turnEvents, async (events) => {
        const answer = await body(events, 'message-first');
        const [first, ...others] = answer.output.map((item) => item.type);
        // Only a turn that failed before any output is empty.
        if (first !== undefined || answer.status !== 'failed') expect(first).toBe('message');
        expect(others).not.toContain('message');
        const said = await body(events, 'natural');
        expect(others).toEqual(
          said.output.map((item) => item.type).filter((type) => type !== 'message' && type !== 'reasoning'),
        );
      }),
    );
  });

  it('sends the whole message before anything else, then the other items in their order', async () => {
    await fc.assert(
      fc.asyncProperty(turnEvents, async (events) => {
        const wire = await wireEvents(await stream(events, 'message-first'));
        const places = wire.flatMap(({ output_index: place }) => (typeof place === 'number' ? [place] : []));
        const firstOther = places.findIndex((place) => place > 0);
        if (firstOther !== -1) expect(places.slice(firstOther)).not.toContain(0);
        const added = wire.filter(({ type }) => type === 'response.output_item.added');
        expect(added.map((event) => event['output_index'])).toEqual(added.map((_, index) => index));
      }),
    );
  });
});

describe('the phase of a message', () => {
  it('does not change between start and end, in both layouts', async () => {
    await fc.assert(
      fc.asyncProperty(turnEvents, layouts, async (events, layout) => {
        const wire = await wireEvents(await stream(events, layout));
        const phases = (type: string) =>
          wire
            .filter((event) => event.type === type)
            .map((event) => event['item'] as { id: string; phase?: string })
            .map(({ id, phase }) => `${id} ${phase ?? 'none'}`)
            .toSorted();
        expect(phases('response.output_item.added')).toEqual(phases('response.output_item.done'));
      }),
    );
  });
});
