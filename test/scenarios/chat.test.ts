import { describe, expect, it } from 'vitest';

import { fold } from '../../src/canonical/events/accumulate.ts';
import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';
import { arrangeChat, renderChat } from '../../src/openai/chat/render.ts';
import { projectChat, type ChatMeta } from '../../src/openai/chat/project.ts';
import { parseResponse, toTurnRequest } from '../../src/openai/responses/input/to-turn.ts';
import { encodeFrame } from '../../src/apis/sse.ts';
import { validateChatChunk, validateChatCompletion } from '../support/schema.ts';
import { eventsOf, readSse } from '../support/sse.ts';
import { collect, emit } from '../support/turn-events.ts';
import { golden, httpError, print } from './golden.ts';
import { replay, requestOf, SCENARIO_OPTIONS, scenarioNames } from './replay.ts';

/** Recordings of the real app-server, rendered for Chat. The request is a Responses request; only the answer differs. */

const meta: ChatMeta = {
  id: 'chatcmpl-1',
  createdAt: 1_800_000_000,
  model: 'gpt-5.5',
  serviceTier: null,
  isLegacy: false,
  isAlsoLegacy: false,
  includeUsage: true,
  usagePolicy: 'exact',
};

const arranged = (events: readonly TurnEvent[]) =>
  arrangeChat(emit(events), { showReasoning: true, showCommentary: true });

describe.each(scenarioNames())('%s', (name) => {
  const events = replay(name, toTurnRequest(parseResponse(requestOf(name)), SCENARIO_OPTIONS).request);
  const [first] = events;

  it('renders as a stream', async () => {
    const text = (await collect(renderChat([arranged(events)], meta))).map(encodeFrame).join('');
    const failed = first?.type === 'turn-ended' && first.outcome.kind === 'failed' ? first.outcome : null;
    golden(name, 'chat.sse', failed === null ? text : httpError(failed.failure));
    const chunks = eventsOf(await collect(readSse(text))).filter((chunk) => !('error' in chunk));
    expect(chunks.flatMap((chunk) => validateChatChunk(chunk))).toEqual([]);
  });

  it('renders as JSON', async () => {
    const reply = await fold(arranged(events));
    if (reply.outcome.kind === 'failed') {
      golden(name, 'chat.json', httpError(reply.outcome.failure));
      return;
    }
    const body = projectChat([reply], meta);
    golden(name, 'chat.json', print(body));
    expect(validateChatCompletion(body)).toEqual([]);
  });
});
