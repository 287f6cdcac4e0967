import { describe, expect, it } from 'vitest';

import type { Failure } from '../../src/canonical/failure.ts';
import { fold } from '../../src/canonical/accumulate.ts';
import type { TurnEvent } from '../../src/canonical/turn-event.ts';
import { arrange, chooseLayout } from '../../src/openai/responses/layout.ts';
import { projectReply, type ResponseMeta } from '../../src/openai/responses/project.ts';
import { renderResponse } from '../../src/openai/responses/render.ts';
import { toTurnRequest, type ResponsesAsk } from '../../src/openai/responses/to-turn.ts';
import { encodeFrame } from '../../src/openai/sse.ts';
import { validateResponse, validateStreamEvent } from '../support/schema.ts';
import { eventsOf, readSse } from '../support/sse.ts';
import { collect, emit, fixedAmbient } from '../support/turn-events.ts';
import { golden, httpError, print } from './golden.ts';
import { SCENARIOS } from './list.ts';
import { replay, requestOf, SCENARIO_OPTIONS, scenarioNames } from './replay.ts';

const metaOf = ({ given, request }: ResponsesAsk): ResponseMeta => ({
  id: 'resp_1',
  createdAt: 1_800_000_000,
  given,
  tools: request.tools,
  effort: request.reasoning.effort,
  serviceTier: request.serviceTier,
  includeEncryptedReasoning: given.include?.includes('reasoning.encrypted_content') ?? false,
  usagePolicy: 'exact',
  isForCodex: false,
});

const arrangedFor = (ask: ResponsesAsk, events: readonly TurnEvent[]) => {
  const layout = chooseLayout({
    asked: null,
    wantsReasoning: ask.wantsReasoning.length > 0,
    mayCompact: false,
    hasHostedTools: ask.request.tools.some(({ kind }) => kind === 'hosted'),
    isCodex: false,
    standard: 'message-first',
  });
  return arrange(emit(events), layout, fixedAmbient().ids);
};

/** A turn that fails before it says anything is a status, for a stream as well. */
const earlyFailure = ([first]: readonly TurnEvent[]): Failure | null =>
  first?.type === 'turn-ended' && first.outcome.kind === 'failed' ? first.outcome.failure : null;

describe.each(scenarioNames())('%s', (name) => {
  const ask = toTurnRequest(requestOf(name), SCENARIO_OPTIONS);
  const meta = metaOf(ask);
  const events = replay(name, ask.request);

  it('is a request of the list', () => {
    expect(requestOf(name)).toEqual(SCENARIOS[name]?.request);
  });

  it('as a stream', async () => {
    const frames = await collect(renderResponse(arrangedFor(ask, events), meta));
    const text = frames.map(encodeFrame).join('');
    const early = earlyFailure(events);
    golden(name, 'responses.sse', early === null ? text : httpError(early));
    const problems = eventsOf(await collect(readSse(text))).flatMap((event) => validateStreamEvent(event));
    expect(problems).toEqual([]);
  });

  it('as JSON', async () => {
    const reply = await fold(arrangedFor(ask, events));
    const body = projectReply({ ...reply, endedAt: 1_800_000_001_000 }, meta);
    const { outcome } = reply;
    const answer = { status: 200, headers: {}, body };
    golden(name, 'responses.json', outcome.kind === 'failed' ? httpError(outcome.failure) : print(answer));
    expect(validateResponse(body)).toEqual([]);
  });
});

describe('the recordings', () => {
  it('are those of the list', () => {
    expect(scenarioNames()).toEqual(Object.keys(SCENARIOS).toSorted());
  });
});
