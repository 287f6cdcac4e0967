import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { failure } from '../../src/canonical/failure.ts';
import type { Outcome } from '../../src/canonical/outcome.ts';
import type { TurnEvent } from '../../src/canonical/turn-event.ts';
import type { KnownNotification } from '../../src/codex/protocol/methods.ts';
import { TurnTranslator } from '../../src/codex/translate/turn-events.ts';
import type { WireEvent } from '../../src/codex/translate/wire-report.ts';
import { checkGrammar } from '../support/grammar.ts';
import { fixedAmbient, trickyText } from '../support/turn-events.ts';

/** Law G at the source: whatever an app-server and a relay say, in whatever order, the events keep their grammar. */

const TURN = 'turn-1';
const note = (method: KnownNotification['method'], params: Record<string, unknown>): KnownNotification =>
  ({ method, params: { threadId: 't', turnId: TURN, ...params } }) as unknown as KnownNotification;

/** Few ids, so that they meet; one is missing. */
const id = fc.constantFrom<(string | undefined)[]>('a', 'b', 'c', '', undefined);
const named = fc.constantFrom('a', 'b', 'c', '');
const index = fc.nat(2);
const phase = fc.constantFrom(null, 'commentary', 'final_answer');
const parts = (type: string) =>
  fc.array(
    trickyText.map((text) => ({ type, text })),
    { maxLength: 3 },
  );

const started = fc
  .record({ type: fc.constantFrom('agentMessage', 'reasoning', 'commandExecution'), id: named, phase })
  .map((item) => note('item/started', { item }));
const text = fc
  .record({ itemId: named, delta: trickyText })
  .map((params) => note('item/agentMessage/delta', params));
const summaryPart = fc
  .record({ itemId: named, summaryIndex: index })
  .map((params) => note('item/reasoning/summaryPartAdded', params));
const summaryText = fc
  .record({ itemId: named, summaryIndex: index, delta: trickyText })
  .map((params) => note('item/reasoning/summaryTextDelta', params));
const reasoningText = fc
  .record({ itemId: named, contentIndex: index, delta: trickyText })
  .map((params) => note('item/reasoning/textDelta', params));

const message = fc.record({
  type: fc.constant('message'),
  role: fc.constantFrom('assistant', 'assistant', 'user'),
  id,
  phase,
  content: parts('output_text'),
  status: fc.constantFrom('completed', 'incomplete'),
});
const reasoning = fc.record({
  type: fc.constant('reasoning'),
  id,
  summary: parts('summary_text'),
  content: fc.option(parts('reasoning_text')),
  encrypted_content: fc.option(trickyText),
});
const call = fc.record({
  type: fc.constant('function_call'),
  id,
  call_id: fc.constantFrom('k1', 'k2'),
  name: fc.constantFrom('f', 'g', 'undeclared'),
  arguments: trickyText,
});
const other = fc.record({
  type: fc.constantFrom(
    'web_search_call',
    'image_generation_call',
    'compaction',
    'custom_tool_call',
    'other',
  ),
  id,
  encrypted_content: fc.constant('secret'),
});
const whole = fc
  .oneof(message, reasoning, call, other)
  .map((item) => note('rawResponseItem/completed', { item }));
const answerDone = fc.constant(note('rawResponse/completed', { responseId: 'r', usage: null }));
const turnDone = fc
  .constantFrom('completed', 'failed')
  .map((status) => note('turn/completed', { turn: { id: TURN, status, error: null } }));

const said = fc
  .oneof(
    { weight: 3, arbitrary: started },
    { weight: 3, arbitrary: text },
    summaryPart,
    { weight: 2, arbitrary: summaryText },
    reasoningText,
    { weight: 4, arbitrary: whole },
    answerDone,
  )
  .map((notification) => ({ notification }));

const seen = fc
  .oneof<fc.Arbitrary<WireEvent>[]>(
    fc.constant({ kind: 'answer-started' }),
    fc.record({
      kind: fc.constant('call-started'),
      outputIndex: index,
      itemId: named,
      callId: fc.constantFrom('k1', 'k2'),
      name: fc.constantFrom('f', 'g', 'undeclared'),
    }),
    fc.record({ kind: fc.constant('call-delta'), itemId: named, delta: trickyText }),
    fc.record({ kind: fc.constant('call-written'), itemId: named }),
    fc.record({
      kind: fc.constant('answer-ended'),
      how: fc.constant('completed'),
      unstreamed: fc.array(fc.oneof(message, reasoning, call), { maxLength: 2 }) as unknown as fc.Arbitrary<
        never[]
      >,
    }),
    fc.constant({ kind: 'answer-ended', how: 'cut' }),
  )
  .map((event) => ({ event }));

const refusals = fc.array(fc.tuple(named, trickyText), { maxLength: 2 }).map((all) => new Map(all));
const ending = fc.oneof(
  turnDone.map((notification) => ({ notification })),
  fc
    .constantFrom<Outcome[]>({ kind: 'completed' }, { kind: 'failed', failure: failure('worker_lost') })
    .map((outcome) => ({ outcome })),
);

type Step =
  | { readonly notification: KnownNotification }
  | { readonly event: WireEvent }
  | { readonly outcome: Outcome };
const told = (one: TurnTranslator, step: Step): TurnEvent[] => {
  if ('notification' in step) return one.next(step.notification);
  return 'event' in step ? one.wire(step.event) : one.end(step.outcome);
};

describe('the grammar of events', () => {
  it('is kept by the translator of notifications and of what a relay sees, whatever they say', async () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof({ weight: 3, arbitrary: said }, seen), { maxLength: 30, size: 'max' }),
        ending,
        refusals,
        fc.boolean(),
        (steps, end, refused, parallelToolCalls) => {
          const translator = new TurnTranslator({
            turnId: TURN,
            callable: new Set(['f', 'g']),
            parallelToolCalls,
            ambient: fixedAmbient(),
            report: {
              ignored: [],
              limitsOutput: false,
              headers: {},
              failure: null,
              signIn: null,
              incomplete: null,
              usage: null,
              refusals: refused,
            },
            onOddity() {},
          });
          const events = [...steps, end].flatMap((step) => told(translator, step));
          expect(checkGrammar(events)).toEqual([]);
        },
      ),
      { numRuns: 3000 },
    );
  });
});
