import type { Script } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import type { CheckedClient } from '../conformance/responses-checked.ts';
import type { TestProxy } from '../support/proxy.ts';

export type Event = Record<string, unknown> & { readonly type: string };

export interface Both {
  readonly events: readonly Event[];
  /** The response in the last event of the stream. */
  readonly last: JsonObject;
  readonly json: JsonObject;
}

/** The same answer as a stream and as JSON, with OpenAI's own client. */
export const askBoth = async (
  proxy: TestProxy,
  client: CheckedClient,
  script: Script,
  body: Record<string, unknown> & { readonly model: string; readonly input: string },
): Promise<Both> => {
  proxy.use(script);
  await client.openai.responses.stream(body).done();
  const events = (await client.lastEvents()) as readonly Event[];
  const last = (events.at(-1)?.['response'] ?? {}) as JsonObject;
  await client.openai.responses.create(body);
  return { events, last, json: client.lastBody() as JsonObject };
};

export const named = (events: readonly Event[], ...types: readonly string[]): readonly Event[] =>
  events.filter((event) => types.includes(event.type));
