import { describe, expect, it } from 'vitest';

import type { Failure } from '../../src/canonical/failure/failure.ts';
import { fold } from '../../src/canonical/events/accumulate.ts';
import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';
import { arrange, type Layout } from '../../src/openai/responses/output/layout.ts';
import { projectReply, type ResponseMeta } from '../../src/openai/responses/output/project.ts';
import { renderResponse } from '../../src/openai/responses/output/render.ts';
import {
  parseResponse,
  toTurnRequest,
  type TranslatedResponse,
} from '../../src/openai/responses/input/to-turn.ts';
import { encodeFrame } from '../../src/apis/sse.ts';
import { validateResponse, validateStreamEvent } from '../support/schema.ts';
import { eventsOf, readSse } from '../support/sse.ts';
import { collect, emit, fixedAmbient } from '../support/turn-events.ts';
import { golden, httpError, print } from './golden.ts';
import { SCENARIOS } from './list.ts';
import { replay, requestOf, SCENARIO_OPTIONS, scenarioNames } from './replay.ts';

const metaOf = ({ parsed, request }: TranslatedResponse): ResponseMeta => ({
  id: 'resp_1',
  createdAt: 1_800_000_000,
  echo: parsed,
  tools: request.tools,
  effort: request.reasoning.effort,
  serviceTier: request.serviceTier,
  includeEncryptedReasoning: parsed.include?.includes('reasoning.encrypted_content') ?? false,
  usagePolicy: 'exact',
  isStored: false,
  isBackground: false,
  continues: null,
  isForCodex: false,
});

const arranged = (events: readonly TurnEvent[], layout: Layout) =>
  arrange(emit(events), layout, { ids: fixedAmbient().ids, showCommentary: true });

/** A turn that fails before any output is a status, also for a stream. */
const earlyFailure = ([first]: readonly TurnEvent[]): Failure | null =>
  first?.type === 'turn-ended' && first.outcome.kind === 'failed' ? first.outcome.failure : null;

describe.each(scenarioNames())('%s', (name) => {
  const ask = toTurnRequest(parseResponse(requestOf(name)), SCENARIO_OPTIONS);
  const meta = metaOf(ask);
  const events = replay(name, ask.request);

  it('has the request of the list', () => {
    expect(requestOf(name)).toEqual(SCENARIOS[name]?.request);
  });

  it('renders as a stream', async () => {
    const frames = await collect(renderResponse(arranged(events, 'natural'), meta));
    const text = frames.map(encodeFrame).join('');
    const early = earlyFailure(events);
    golden(name, 'responses.sse', early === null ? text : httpError(early));
    const problems = eventsOf(await collect(readSse(text))).flatMap((event) => validateStreamEvent(event));
    expect(problems).toEqual([]);
  });

  it('renders as JSON', async () => {
    const reply = await fold(arranged(events, 'natural'));
    const body = projectReply({ ...reply, endedAt: 1_800_000_001_000 }, meta);
    const { outcome } = reply;
    const answer = { status: 200, headers: {}, body };
    golden(name, 'responses.json', outcome.kind === 'failed' ? httpError(outcome.failure) : print(answer));
    expect(validateResponse(body)).toEqual([]);
  });
});

describe.each(['tools', 'parallel-tools', 'reasoning-text-tools', 'commentary'])(
  '%s, message-first',
  (name) => {
    const ask = toTurnRequest(parseResponse(requestOf(name)), SCENARIO_OPTIONS);
    const meta = metaOf(ask);
    const events = replay(name, ask.request);

    it('renders as a stream, and as the JSON in its last event', async () => {
      const frames = await collect(renderResponse(arranged(events, 'message-first'), meta));
      golden(name, 'message-first.sse', frames.map(encodeFrame).join(''));
      const { endedAt: _, ...reply } = await fold(arranged(events, 'message-first'));
      const last = frames.at(-2)?.data as { response: { completed_at: number } };
      const endedAt = last.response.completed_at * 1000;
      expect(last.response).toEqual(projectReply({ ...reply, endedAt }, meta));
    });
  },
);

describe('the recordings', () => {
  it('match the list', () => {
    expect(scenarioNames()).toEqual(Object.keys(SCENARIOS).toSorted());
  });
});
