import type OpenAI from 'openai';
import { expect } from 'vitest';

import type { AgentServer } from './agent-server.ts';

export type SessionEvent = OpenAI.Beta.AgentSessionEvent;

export const userMessage = (text: string) => ({
  type: 'agent.session.input.message',
  input: [{ role: 'user', content: [{ type: 'input_text', text }] }],
});

export const postInput = (
  server: AgentServer,
  id: string,
  events: readonly object[],
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> => server.post(`/v1/agents/sessions/${id}/events`, { events }, headers);

/** The types of events, without what they begin with. */
export const typesOf = (events: readonly SessionEvent[]): readonly string[] =>
  events.map(({ type }) => type.replace('agent.session.', '').replace('agent.output.', ''));

/** Reads the events of a session in the background. */
export const followSession = (
  server: AgentServer,
  id: string,
  headers: Readonly<Record<string, string>> = {},
) => {
  const stop = new AbortController();
  const all: SessionEvent[] = [];
  let read = 0;
  let changed = Promise.withResolvers<void>();
  const reading = (async () => {
    const answer = await server.send(`/v1/agents/sessions/${id}/events`, { signal: stop.signal, headers });
    expect(answer.status).toBe(200);
    let text = '';
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const [, eventId, type, data] = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(block) ?? [];
        if (data === undefined) continue;
        const event = JSON.parse(data) as SessionEvent;
        expect([event.event_id, event.type]).toEqual([eventId, type]);
        all.push(event);
      }
      changed.resolve();
      changed = Promise.withResolvers();
    }
  })();
  const ended = reading.then(
    () => 'ended' as const,
    () => 'cut' as const,
  );
  return {
    all,
    ended,
    stop: () => stop.abort(),
    /** Waits for the next event of this type. */
    async until(type: SessionEvent['type']): Promise<SessionEvent> {
      for (;;) {
        const event = all[read];
        if (event === undefined) {
          await Promise.race([changed.promise, ended]);
          if (all[read] === undefined && (await Promise.race([ended, Promise.resolve(null)])) !== null) {
            throw new Error(`the stream ended before ${type}`);
          }
          continue;
        }
        read += 1;
        if (event.type === type) return event;
      }
    },
  };
};
