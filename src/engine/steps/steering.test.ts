import { describe, expect, it } from 'vitest';

import {
  ACCEPTED,
  callTold,
  END,
  messageEnded,
  messageStarted,
  messageTold,
  textDelta,
} from '../../../test/support/item-events.ts';
import { planOf } from '../../../test/support/plan.ts';
import { fixedAmbient, collect, emit } from '../../../test/support/turn-events.ts';
import { turnContext, turnRequest } from '../../../test/support/turn-request.ts';
import { ModelBudget } from '../../canonical/context/model-budget.ts';
import type { SteerListener, TurnSteering } from '../../canonical/context/turn-context.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Usage } from '../../canonical/events/usage.ts';
import { gatewayError } from '../../canonical/failure/failure.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { unlessAborted } from '../../kit/async/wait.ts';
import { continueSteered, endSteered } from './steering.ts';

const { clock } = fixedAmbient();

describe('continueSteered', () => {
  const hung = new Promise<never>(() => {});
  const USAGE: Usage = {
    inputTokens: 10,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    outputTokens: 5,
    reasoningTokens: 0,
    totalTokens: 15,
  };

  /** What the client has to say, and what it hears. */
  class Client implements TurnSteering {
    listener: SteerListener | null = null;
    #said: string[] = [];
    readonly used: Promise<Usage | null>[] = [];

    listen(listener: SteerListener): () => void {
      this.listener = listener;
      return () => {
        this.listener = null;
      };
    }
    hasInput(): boolean {
      return this.#said.length > 0;
    }
    take(used: Promise<Usage | null>): readonly (readonly string[])[] {
      this.used.push(used);
      return this.#said.splice(0).map((text) => [text]);
    }
    say(text: string): string {
      const refusal = this.listener === null ? gatewayError('response_not_found') : this.listener.refusal();
      if (refusal !== null) return refusal.failure.code;
      this.#said.push(text);
      this.listener?.onInput();
      return 'accepted';
    }
  }

  type PartOf = readonly TurnEvent[] | Error | ((client: Client) => AsyncIterable<TurnEvent>);

  /**
   * Runs an answer whose parts have these events; one without an end hangs. `says` is called with each event that the client
   * has seen.
   */
  const run = async (
    parts: readonly PartOf[],
    says: (event: TurnEvent, client: Client) => void,
    different: Partial<TurnRequest> = {},
  ) => {
    const client = new Client();
    const asked: TurnRequest[] = [];
    const budget = new ModelBudget(3);
    const source = (part: PartOf) =>
      async function* (signal: AbortSignal): AsyncGenerator<TurnEvent> {
        budget.take();
        if (part instanceof Error) throw part;
        if (typeof part === 'function') {
          yield* part(client);
          return;
        }
        yield* part;
        if (part.at(-1)?.type !== 'turn-ended') await unlessAborted(hung, signal);
      };
    const step = continueSteered.wrap(
      (request) => {
        asked.push(request);
        return planOf(source(parts[asked.length - 1]!));
      },
      { clock, tokenizer: { countTexts: async (texts) => texts.join(' ').split(' ').length } },
    );
    const context = turnContext({ steering: client, budget });
    const seen: TurnEvent[] = [];
    let settled = 0;
    const plan = step(turnRequest(different), context);
    for await (const event of plan.run(new AbortController().signal, () => (settled += 1))) {
      seen.push(event);
      says(event, client);
    }
    return { seen, asked, client, settled };
  };

  const saysAt =
    (delta: string, text = 'Go left.') =>
    (event: TurnEvent, client: Client): void => {
      if (event.type === 'item-delta' && event.delta === delta) client.say(text);
    };

  const message = (text: string) => ({ kind: 'message', role: 'user', parts: [{ kind: 'text', text }] });

  const whole = messageTold('m1', 'whole');
  const begun = [messageStarted('m2'), textDelta('m2', 'begun')];

  it('interrupts the model, and asks it again with what is complete', async () => {
    const { seen, asked, client } = await run(
      [
        [ACCEPTED, ...whole, ...begun],
        [ACCEPTED, ...messageTold('m2', 'left'), { ...END, usage: USAGE }],
      ],
      saysAt('begun'),
    );
    expect(seen).toEqual([
      ACCEPTED,
      ...whole,
      ...begun,
      messageEnded('m2', 'begun', { status: 'incomplete' }),
      // The ids of an answer are unique.
      ...messageTold('m2_2', 'left'),
      expect.objectContaining({ type: 'turn-ended', outcome: END.type === 'turn-ended' && END.outcome }),
    ]);
    expect(asked[1]?.items.slice(asked[0]?.items.length)).toMatchObject([
      { kind: 'message', id: 'm1', role: 'assistant' },
      message('Go left.'),
    ]);
    const used = await client.used[0];
    expect(used).toMatchObject({ outputTokens: 2, isCounted: true });
    expect(seen.at(-1)).toMatchObject({
      usage: { inputTokens: 10 + (used?.inputTokens ?? 0), outputTokens: 7, isCounted: true },
    });
  });

  it('leaves out reasoning that nothing follows', async () => {
    const reasoning = { kind: 'reasoning', id: 'r', summary: [], status: 'completed' } as const;
    const { asked } = await run(
      [
        [
          ACCEPTED,
          { type: 'item-started', item: reasoning },
          { type: 'item-ended', item: reasoning },
          ...begun,
        ],
        [ACCEPTED, END],
      ],
      saysAt('begun'),
    );
    expect(asked[1]?.items).toEqual([...(asked[0]?.items ?? []), message('Go left.')]);
  });

  it('continues an answer that ended before it could be interrupted', async () => {
    // The model ends while the client speaks.
    async function* ending(client: Client): AsyncGenerator<TurnEvent> {
      yield* [ACCEPTED, ...whole];
      client.say('More.');
      yield { ...END, usage: USAGE };
    }
    const { asked, client } = await run([ending, [ACCEPTED, ...messageTold('m3', 'more'), END]], () => {});
    expect(await client.used[0]).toBe(USAGE);
    expect([asked.length, client.used.length]).toEqual([2, 1]);
  });

  it('does not interrupt a tool that runs, nor a call of the client', async () => {
    const tool = { kind: 'opaque', id: 't', raw: { type: 'mcp_call' }, status: 'completed' } as never;
    const started: TurnEvent = { type: 'item-started', item: tool };
    const ended: TurnEvent = { type: 'item-ended', item: tool };
    const { seen } = await run(
      [
        [ACCEPTED, started, ended, ...begun],
        [ACCEPTED, END],
      ],
      (event, client) => void (event === started && client.say('Go left.')),
    );
    expect(seen.slice(0, 3)).toEqual([ACCEPTED, started, ended]);
    expect(seen.slice(3).map(({ type }) => type)).toEqual(['turn-ended']);
    const answers: string[] = [];
    await run([[ACCEPTED, ...callTold('c', '{}'), END]], (event, client) => {
      if (event.type !== 'turn-ended') answers.push(client.say('Go left.'));
      client.take(Promise.resolve(null));
    });
    expect(answers.at(-1)).toBe('response_not_steerable');
  });

  it('asks the model no more often than the budget allows', async () => {
    const answers: string[] = [];
    const { seen } = await run(
      [begun, begun, [...begun, messageEnded('m2', 'begun'), END]].map((part) => [ACCEPTED, ...part]),
      (event, client) => {
        if (event.type === 'item-delta') answers.push(client.say('Go on.'));
      },
    );
    expect(answers).toEqual(['accepted', 'accepted', 'response_not_steerable']);
    expect(seen.at(-1)).toMatchObject({ type: 'turn-ended', outcome: { kind: 'completed' } });
  });

  it('ends with the failure of a later part, and settles once', async () => {
    const { seen, settled } = await run(
      [[ACCEPTED, ...begun], gatewayError('server_overloaded')],
      saysAt('begun'),
    );
    expect(seen.at(-1)).toMatchObject({
      type: 'turn-ended',
      outcome: { kind: 'failed', failure: { code: 'server_overloaded' } },
      usage: { isCounted: true },
    });
    expect(settled).toBe(0);
    await expect(run([gatewayError('server_overloaded')], () => {})).rejects.toMatchObject({
      failure: { code: 'server_overloaded' },
    });
  });
});

describe('endSteered', () => {
  const STEERED: TurnEvent = {
    ...END,
    outcome: { kind: 'incomplete', reason: 'steered' },
    isEndedHere: true,
    at: clock.now(),
  };

  /** Runs the step over these events; the client speaks after as many of them. */
  const run = async (events: readonly TurnEvent[], after: number): Promise<readonly TurnEvent[]> => {
    let seen = 0;
    const source = async function* (): AsyncGenerator<TurnEvent> {
      for await (const event of emit(events)) {
        yield event;
        seen += 1;
      }
    };
    const plan = endSteered.wrap(() => planOf(source), { clock });
    const context = { ...turnContext(), isSteered: () => seen > after };
    return collect(plan(turnRequest(), context).run(new AbortController().signal));
  };

  const [one, two] = [messageTold('m1', 'one'), messageTold('m2', 'two')];

  it('ends in place of the next item, and finishes the one that has begun', async () => {
    expect(await run([ACCEPTED, ...one, ...two, END], 1)).toEqual([ACCEPTED, ...one, STEERED]);
    expect(await run([ACCEPTED, ...one, ...two, END], 3)).toEqual([ACCEPTED, ...one, STEERED]);
  });

  it('lets the last item end its answer', async () => {
    const events = [ACCEPTED, ...one, END];
    expect(await run(events, 1)).toEqual(events);
  });

  it('leaves an answer with a call of the client to the model', async () => {
    const events = [ACCEPTED, ...callTold('c', '{}'), ...one, END];
    expect(await run(events, 1)).toEqual(events);
  });

  it('waits for items that overlap', async () => {
    const open = [ACCEPTED, messageStarted('m1'), ...two, textDelta('m1', 'one')];
    const events = [...open, ...one.slice(2), ...messageTold('m3', 'three'), END];
    expect(await run(events, 1)).toEqual([...open, ...one.slice(2), STEERED]);
  });

  it('does nothing for a request that cannot be steered', () => {
    const plan = planOf(() => emit([END]));
    expect(endSteered.wrap(() => plan, { clock })(turnRequest(), turnContext())).toBe(plan);
  });
});
