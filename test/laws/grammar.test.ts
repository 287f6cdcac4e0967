import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { arrangeMessage } from '../../src/anthropic/messages/api.ts';
import { withCompactionTrigger } from '../../src/canonical/request/compaction.ts';
import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';
import { wellFormed } from '../../src/canonical/events/well-formed.ts';
import type { CompactionSupport } from '../../src/codex/capabilities/compaction.ts';
import { compactConversations } from '../../src/engine/steps/compact-conversations.ts';
import { customAgain } from '../../src/engine/plan/custom-as-functions.ts';
import { runChoices } from '../../src/turns/choices.ts';
import type { Plan, PlanTurn } from '../../src/engine/engine.ts';
import { hideSecrets } from '../../src/engine/steps/reword-failures.ts';
import { keepToolChoice } from '../../src/engine/steps/keep-tool-choice.ts';
import { endWithinBudget, limitTime } from '../../src/engine/steps/turn-limits.ts';
import { COALESCE_ABOVE, Mailbox } from '../../src/engine/attempt/mailbox.ts';
import { limitOutput } from '../../src/engine/steps/limit-output.ts';
import { repairCalls } from '../../src/engine/steps/repair-calls.ts';
import { toolsInProse } from '../../src/engine/prose-tools/prose-engine.ts';
import { retryWhole } from '../../src/engine/steps/retry-whole.ts';
import {
  ANSWER_STEPS,
  BACKEND_STEPS,
  type AnswerStepDeps,
  type BackendStepDeps,
} from '../../src/engine/steps/order.ts';
import { withSteps, type Step } from '../../src/engine/steps/step.ts';
import { stopSequences } from '../../src/engine/steps/stop-sequences.ts';
import { Refusals } from '../../src/codex/capabilities/refusals.ts';
import type { Clock } from '../../src/kit/ambient.ts';
import type { Tokenizer } from '../../src/engine/count-tokens.ts';
import { allPastCommitPoint } from '../../src/turns/commit-point.ts';
import { tap } from '../../src/observe/observer.ts';
import { arrangeChat } from '../../src/openai/chat/render.ts';
import { arrange } from '../../src/openai/responses/output/layout.ts';
import { checkGrammar } from '../support/grammar.ts';
import { planOf, throughStep } from '../support/plan.ts';
import { answerStepDeps, backendStepDeps } from '../support/step-deps.ts';
import { collect, emit, fixedAmbient, turnEvents } from '../support/turn-events.ts';
import { functionTool, turnContext, turnRequest } from '../support/turn-request.ts';

/** Law G: every transform keeps the grammar of events. */

const { clock, ids } = fixedAmbient();
const never = new AbortController().signal;
const telling = (events: readonly TurnEvent[]): Plan => planOf(() => emit(events));
const characters: Tokenizer = {
  warmUp: () => {},
  count: async (text) => text.length,
  head: async (text, tokens) => text.slice(0, tokens),
};

const throughMailbox = (events: readonly TurnEvent[]): AsyncIterable<TurnEvent> => {
  const mailbox = new Mailbox();
  mailbox.push(events);
  mailbox.close();
  return mailbox;
};

/** A model with tools described in prose that answers with these events. */
const prose = (events: readonly TurnEvent[]): PlanTurn =>
  toolsInProse.wrap(() => telling(events), {
    prose: {
      isProse: () => true,
      guide: { guide: async (schemas) => schemas.map(() => null) },
      instructionsTarget: 'base',
      ambient: { clock, ids },
      onAnomaly() {},
    },
  });

/** Planning with the steps that shorten the output. */
const shortened = (plan: PlanTurn): PlanTurn =>
  withSteps<{ readonly tokenizer: Tokenizer; readonly clock: Clock }>([limitOutput, stopSequences], plan, {
    tokenizer: characters,
    clock,
  });

/** A limit above which deltas are joined. */
const PILE: readonly TurnEvent[] = [
  {
    type: 'item-started',
    item: { kind: 'tool-call', id: 'pile', tool: 'custom', callId: 'c', name: 'f', input: '' },
  },
  ...Array.from({ length: COALESCE_ABOVE }, (): TurnEvent => ({
    type: 'item-delta',
    itemId: 'pile',
    at: 'input',
    delta: '',
  })),
  {
    type: 'item-ended',
    item: {
      kind: 'tool-call',
      id: 'pile',
      tool: 'custom',
      callId: 'c',
      name: 'f',
      input: '',
      status: 'completed',
    },
  },
];

/** A conversation to compact, with a backend that always answers with these events. */
const compacted = (events: readonly TurnEvent[], support: CompactionSupport): AsyncIterable<TurnEvent> =>
  run(
    compactConversations.wrap(() => telling(events), {
      compaction: support,
      refusals: new Refusals(clock),
      ids,
      onNoCompaction() {},
    }),
    withCompactionTrigger(turnRequest({})),
  );

type Transform = (events: readonly TurnEvent[], size: number) => AsyncIterable<TurnEvent>;
const run = (plan: PlanTurn, different: Parameters<typeof turnRequest>[0]): AsyncIterable<TurnEvent> =>
  plan(turnRequest(different), turnContext()).run(never);

/** Every second call is invalid, and all attempts have the same events. */
const repairedTwice = (events: readonly TurnEvent[], isStream: boolean): AsyncIterable<TurnEvent> => {
  let checked = 0;
  const repair = {
    attempts: 2,
    inStreams: true,
    async check() {
      checked += 1;
      return checked % 2 === 1 ? 'wrong' : null;
    },
    onRepair() {},
  };
  const tools = [functionTool('b', { strict: true, parameters: {} })];
  return throughStep(repairCalls, { repair, isStream }, telling(events), { tools }).run(never);
};

const TRANSFORMS: Readonly<Record<string, Transform>> = {
  'nothing at all': (events) => emit(events),
  'the layout natural': (events) => arrange(emit(events), 'natural', { ids, showCommentary: true }),
  'the layout message-first': (events, size) =>
    arrange(emit(events), 'message-first', { ids, showCommentary: size % 2 === 0 }),
  'chat with everything': (events) =>
    arrangeChat(emit(events), { showReasoning: true, showCommentary: true }),
  'chat with the answer only': (events) =>
    arrangeChat(emit(events), { showReasoning: false, showCommentary: false }),
  'messages with reasoning': (events) => arrangeMessage(emit(events), { thinking: 'summarized' }),
  'messages without reasoning': (events) => arrangeMessage(emit(events), { thinking: null }),
  'a limit of the output': (events, size) =>
    run(
      shortened(() => telling(events)),
      { maxOutputTokens: size },
    ),
  stops: (events) =>
    run(
      shortened(() => telling(events)),
      { stop: ['\n', 'a', '😀', 'data:'] },
    ),
  'stops and a limit': (events, size) =>
    run(
      shortened(() => telling(events)),
      {
        stop: ['e', '"a'],
        maxOutputTokens: size,
      },
    ),
  'a call that must come': (events) =>
    run(
      keepToolChoice.wrap(() => telling(events), { clock }),
      {
        toolChoice: { mode: 'named', tool: { kind: 'function', name: 'b' } },
      },
    ),
  'a compaction': (events) => compacted(events, 'native'),
  'a summary': (events) => compacted(events, 'unknown'),
  'a second try of strict calls': (events) => repairedTwice(events, false),
  'a second try of strict calls in a stream': (events) => repairedTwice(events, true),
  'tools in prose': (events) => run(prose(events), { tools: [functionTool('f')] }),
  'one tool in prose, stops and a limit': (events, size) =>
    run(shortened(prose(events)), {
      tools: [functionTool('f')],
      parallelToolCalls: false,
      stop: ['e'],
      maxOutputTokens: size,
    }),
  'a limit of the time': (events) =>
    throughStep(limitTime, { turnTimeoutMs: 60_000, clock }, telling(events)).run(never),
  'a budget of model requests': (events) =>
    throughStep(endWithinBudget, { clock }, telling(events)).run(never),
  secrets: (events) => throughStep(hideSecrets, { secrets: ['secret'] }, telling(events)).run(never),
  'a second attempt': (events) => throughStep(retryWhole, { isStream: false }, telling(events)).run(never),
  'one of several choices': (events) =>
    runChoices([telling(events)], [{ leave() {} }, { leave() {} }], {
      signal: never,
      pace: 'one-by-one',
    })[0],
  observers: (events) => tap(emit(events), [{ onEvent() {} }], { clock, startedAt: 0, onObserverError() {} }),
  'a mailbox': (events) => throughMailbox(events),
  'functions in place of custom tools': (events) =>
    customAgain(emit(events), {
      tools: [{ kind: 'custom', name: 'get_weather', description: null, format: null }],
      items: [],
    }),
};

interface OutputDeps {
  readonly isStream: boolean;
  readonly secrets: readonly string[];
  readonly tokenizer: Tokenizer;
  readonly clock: Clock;
  readonly turnTimeoutMs: number;
}

const size = fc.nat(20);

const assertGrammar = (wrap: (next: PlanTurn) => PlanTurn): Promise<void> =>
  fc.assert(
    fc.asyncProperty(turnEvents, size, async (events, max) => {
      const planned = wrap(() => telling(events));
      const asked = { maxOutputTokens: max, stop: ['a'], tools: [functionTool('f')] };
      expect(checkGrammar(await collect(run(planned, asked)))).toEqual([]);
    }),
  );

describe('the grammar of events', () => {
  it.each(Object.entries(TRANSFORMS))('is kept by %s', async (_, transform) => {
    await fc.assert(
      fc.asyncProperty(turnEvents, size, async (events, max) => {
        expect(checkGrammar(await collect(transform(events, max)))).toEqual([]);
      }),
    );
  });

  // The lists of the engine themselves: a new step is here without being named.
  it.each(ANSWER_STEPS)('is kept by the step $name', async ({ wrap }: Step<AnswerStepDeps>) => {
    await expect(
      assertGrammar((next) => wrap(next, answerStepDeps({ clock, ids }))),
    ).resolves.toBeUndefined();
  });

  it.each(BACKEND_STEPS)('is kept by the step $name', async ({ wrap }: Step<BackendStepDeps>) => {
    await expect(
      assertGrammar((next) => wrap(next, backendStepDeps({ clock, ids }))),
    ).resolves.toBeUndefined();
  });

  it('is kept by a mailbox that joins deltas', async () => {
    await fc.assert(
      fc.asyncProperty(turnEvents, async (events) => {
        const [accepted, ...rest] = events;
        if (accepted?.type !== 'turn-accepted') return;
        const read = await collect(throughMailbox([accepted, ...PILE, ...rest]));
        expect(checkGrammar(read)).toEqual([]);
      }),
    );
  });

  it('is kept by all of them in sequence', async () => {
    await fc.assert(
      fc.asyncProperty(turnEvents, size, fc.boolean(), async (events, max, isChat) => {
        const planned = withSteps<OutputDeps>(
          [retryWhole, hideSecrets, limitOutput, stopSequences, limitTime],
          () => telling(events),
          { isStream: false, secrets: ['s'], tokenizer: characters, clock, turnTimeoutMs: 60_000 },
        );
        const told = await collect(run(planned, { stop: ['a'], maxOutputTokens: max }));
        const shown = isChat
          ? arrangeChat(emit(told), { showReasoning: true, showCommentary: false })
          : arrange(emit(told), 'message-first', { ids, showCommentary: true });
        expect(checkGrammar(await collect(shown))).toEqual([]);
      }),
    );
  });
});

/** Emits the start of a turn, then throws or ends without turn-ended. */
const cut = fc
  .record({ events: turnEvents, at: fc.nat(40), how: fc.constantFrom('throws', 'ends', 'hangs') })
  .map(({ events, at, how }) => ({ beginning: events.slice(0, -1).slice(0, at), how }));

async function* broken(
  { beginning, how }: { readonly beginning: readonly TurnEvent[]; readonly how: string },
  signal: AbortSignal = never,
): AsyncGenerator<TurnEvent> {
  yield* beginning;
  if (how === 'throws') throw new Error('broken');
  if (how !== 'hangs' || signal === never) return;
  await new Promise((resolve) => {
    signal.addEventListener('abort', resolve);
  });
  signal.throwIfAborted();
}

describe('the grammar of events of a turn that breaks off', () => {
  it('is kept by wellFormed', async () => {
    await fc.assert(
      fc.asyncProperty(cut, async (turn) => {
        const onThrow = () => ({ kind: 'incomplete', reason: 'content_filter' }) as const;
        expect(checkGrammar(await collect(wellFormed(broken(turn), { clock, onThrow })))).toEqual([]);
      }),
    );
  });

  it('is kept after the commit point', async () => {
    await fc.assert(
      fc.asyncProperty(cut, async (turn) => {
        fc.pre(turn.beginning.length > 0);
        const options = { idleMs: null, clock, stop() {}, onBug() {} };
        const [committed] = await allPastCommitPoint([broken(turn)], options);
        expect(checkGrammar(await collect(committed.events))).toEqual([]);
      }),
    );
  });

  it('is kept by an expired time limit', async () => {
    await fc.assert(
      fc.asyncProperty(cut, async ({ beginning }) => {
        const plan = planOf((signal) => broken({ beginning, how: 'hangs' }, signal));
        expect(
          checkGrammar(await collect(throughStep(limitTime, { turnTimeoutMs: 1, clock }, plan).run(never))),
        ).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });
});
