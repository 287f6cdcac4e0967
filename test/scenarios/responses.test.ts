import { existsSync, readFileSync, writeFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import type { Failure } from '../../src/canonical/failure.ts';
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

/** Scenarios whose answer is known to be wrong today; the golden file has the right one. */
const KNOWN_WRONG: ReadonlySet<string> = new Set(['content-filter']);

/** JSON is compared as a value, so that a formatter may lay it out. */
const golden = (name: string, file: 'responses.sse' | 'responses.json', actual: string): void => {
  const at = scenarioFile(name, file);
  if (isUpdating && !KNOWN_WRONG.has(name)) writeFileSync(at, actual);
  expect(existsSync(at), `${at} is missing: run with UPDATE_GOLDEN=1`).toBe(true);
  const expected = readFileSync(at, 'utf8');
  if (file === 'responses.sse') expect(actual).toBe(expected);
  else expect(JSON.parse(actual)).toEqual(JSON.parse(expected));
};

const print = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

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

/** A failure that is an HTTP status: the head and the body of the answer. */
const refused = (failed: Failure) => ({
  status: failed.status,
  headers: {
    ...failed.headers,
    ...(failed.retryAfterSeconds === null ? {} : { 'retry-after': String(failed.retryAfterSeconds) }),
  },
  body: errorBody(failed),
});

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

  const fails = KNOWN_WRONG.has(name);

  it('as a stream', { fails }, async () => {
    const frames = await collect(renderResponse(arranged(events, meta), meta, fixedAmbient().clock));
    const text = frames.map(encodeFrame).join('');
    const early = earlyFailure(events);
    golden(name, 'responses.sse', early === null ? text : print(refused(early)));
    const problems = eventsOf(await collect(readSse(text))).flatMap((event) => validateStreamEvent(event));
    expect(problems).toEqual([]);
  });

  it('as JSON', { fails }, async () => {
    const reply = await fold(arranged(events, meta));
    const body = projectReply(reply, meta, 1_800_000_001);
    const { outcome } = reply;
    const answer = outcome.kind === 'failed' ? refused(outcome.failure) : { status: 200, headers: {}, body };
    golden(name, 'responses.json', print(answer));
    expect(validateResponse(body)).toEqual([]);
  });
});

describe('the recordings', () => {
  it('are those of the list', () => {
    expect(scenarioNames()).toEqual(Object.keys(SCENARIOS).toSorted());
  });
});
