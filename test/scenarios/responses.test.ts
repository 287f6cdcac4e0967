import { existsSync, readFileSync, writeFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { fold } from '../../src/canonical/reply.ts';
import type { TurnEvent } from '../../src/canonical/turn-event.ts';
import { errorBody } from '../../src/openai/error-body.ts';
import { arrange } from '../../src/openai/responses/layout.ts';
import { projectReply, type ResponseMeta } from '../../src/openai/responses/project.ts';
import { renderResponse } from '../../src/openai/responses/render.ts';
import { toTurnRequest, type ResponsesAsk } from '../../src/openai/responses/to-turn.ts';
import { encodeFrame } from '../../src/openai/sse.ts';
import { validateResponse, validateStreamEvent } from '../support/schema.ts';
import { eventsOf, readSse } from '../support/sse.ts';
import { collect, emit, fixedAmbient } from '../support/turn-events.ts';
import { SCENARIOS } from './list.ts';
import { replay, requestOf, SCENARIO_OPTIONS, scenarioFile, scenarioNames } from './replay.ts';

/**
 * What the real app-server said, and the answers that it must become. The files are compared whole;
 * `UPDATE_GOLDEN=1` writes them anew, and the difference is for a person to read.
 */
const isUpdating = process.env['UPDATE_GOLDEN'] === '1';

const golden = (name: string, file: string, actual: string): void => {
  const at = scenarioFile(name, file);
  if (isUpdating) writeFileSync(at, actual);
  expect(existsSync(at), `${at} is missing: run with UPDATE_GOLDEN=1`).toBe(true);
  expect(actual).toBe(readFileSync(at, 'utf8'));
};

const metaOf = ({ wire, request }: ResponsesAsk): ResponseMeta => ({
  id: 'resp_1',
  createdAt: 1_800_000_000,
  wire,
  tools: request.tools,
  effort: request.reasoning.effort,
  includeEncryptedReasoning: wire.include?.includes('reasoning.encrypted_content') ?? false,
  usagePolicy: 'exact',
});

const arranged = (events: readonly TurnEvent[], meta: ResponseMeta) =>
  arrange(emit(events), {
    layout: 'message-first',
    showReasoning: meta.includeEncryptedReasoning || meta.wire.reasoning?.summary !== undefined,
    ids: fixedAmbient().ids,
  });

/** A turn that fails before it says anything is an HTTP status, for a stream as well. */
const statusOf = (events: readonly TurnEvent[]): string | null => {
  const [first] = events;
  if (first?.type !== 'turn-ended' || first.outcome.kind !== 'failed') return null;
  const { failure } = first.outcome;
  const retry = failure.retryAfterSeconds === null ? '' : `retry-after: ${failure.retryAfterSeconds}\n`;
  return `HTTP ${failure.status}\n${retry}\n${JSON.stringify(errorBody(failure), null, 2)}\n`;
};

describe.each(scenarioNames())('%s', (name) => {
  const ask = toTurnRequest(requestOf(name), SCENARIO_OPTIONS);
  const meta = metaOf(ask);
  const events = replay(name, ask.request);

  it('is a request of the list', () => {
    expect(requestOf(name)).toEqual(SCENARIOS[name]?.request);
  });

  it('as a stream', async () => {
    const frames = await collect(renderResponse(arranged(events, meta), meta, fixedAmbient().clock));
    const text = frames.map(encodeFrame).join('');
    golden(name, 'responses.sse', statusOf(events) ?? text);
    const problems = eventsOf(await collect(readSse(text))).flatMap((event) => validateStreamEvent(event));
    expect(problems).toEqual([]);
  });

  it('as JSON', async () => {
    const reply = await fold(arranged(events, meta));
    const body = projectReply(reply, meta, 1_800_000_001);
    const failed = reply.outcome.kind === 'failed' ? reply.outcome : null;
    const status = failed === null ? null : statusOf([{ type: 'turn-ended', outcome: failed, usage: null }]);
    golden(name, 'responses.json', status ?? `${JSON.stringify(body, null, 2)}\n`);
    expect(validateResponse(body)).toEqual([]);
  });
});

describe('the recordings', () => {
  it('are those of the list', () => {
    expect(scenarioNames()).toEqual(Object.keys(SCENARIOS).toSorted());
  });
});
