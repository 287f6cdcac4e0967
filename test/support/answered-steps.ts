import { afterEach, expect } from 'vitest';

import { answer, type AnswerOptions } from '../../src/demo/answer.ts';
import { startModelServer, type ModelServer, type ModelServerOptions } from '../../src/demo/model-server.ts';
import type { ScriptStep } from '../../src/demo/script-step.ts';
import { expectMatchesSchema } from './schema.ts';
import { collectSse, eventsOf } from './sse.ts';

/** A scripted model server per question. A test file calls `closeServers()` first. */
const servers: ModelServer[] = [];

/** Closes the model servers of each test at its end. */
export const closeServers = (): void => {
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close()));
  });
};

const fixed = (): AnswerOptions => {
  let count = 0;
  return {
    ambient: {
      clock: { now: () => 1_700_000_000_000 },
      ids: { mint: (prefix) => `${prefix}_${String(++count)}` },
    },
  };
};

const request = { model: 'gpt-x', input: 'hi', stream: true, tools: [], temperature: 0.5 };

export const askServer = async (
  options: ModelServerOptions,
  signal: AbortSignal | null = null,
): Promise<{ readonly server: ModelServer; readonly response: Response }> => {
  const server = await startModelServer(options);
  servers.push(server);
  const response = await fetch(`${server.baseUrl}/responses`, {
    method: 'POST',
    body: JSON.stringify(request),
    signal,
  });
  return { server, response };
};

/** All events of an answer; each of them matches OpenAI's schema, and the sequence numbers have no gap. */
export const eventsFor = async (
  steps: readonly ScriptStep[],
  options: AnswerOptions = fixed(),
): Promise<readonly Record<string, unknown>[]> => {
  const { response } = await askServer({
    script: (_request, connection) => answer(connection, steps, options),
  });
  const frames = await collectSse(response);
  const events = eventsOf(frames);
  expect(frames.map((frame) => frame.event)).toEqual(events.map((event) => event['type']));
  expect(events.map((event) => event['sequence_number'])).toEqual(events.keys().toArray());
  for (const event of events) expectMatchesSchema('ResponseStreamEvent', event);
  return events.map(({ sequence_number: _number, ...event }) => event);
};

/** Without created, in_progress and the last event. */
export const inner = (events: readonly Record<string, unknown>[]): readonly unknown[] => events.slice(2, -1);
