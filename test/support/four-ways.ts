import { isJsonObject, type JsonObject } from '../../src/kit/json/json.ts';
import type { TestProxy } from './proxy.ts';
import { collectSse, eventsOf } from './sse.ts';

/** What a client sees of an answer, in the same form for every API. */
export interface Seen {
  readonly status: number;
  /** Of an error, even in the middle of a stream; null: none. */
  readonly code: string | null;
  readonly text: string;
  /** Kind, name and input of each call. */
  readonly calls: readonly (readonly [kind: string, name: string, input: string])[];
}

export const WAYS = ['responses', 'responses stream', 'chat', 'chat stream'] as const;
export type ApiWay = (typeof WAYS)[number];

/** A request in the form of the Responses API, and as a chat. */
export interface Asked {
  readonly tools: readonly JsonObject[];
  readonly choice?: unknown;
  readonly more?: JsonObject;
}

/** Sends the request in one of the four ways. */
export const askBy = async (proxy: TestProxy, way: ApiWay, asked: Asked): Promise<Seen> => {
  const isStream = way.endsWith('stream');
  const isChat = way.startsWith('chat');
  const body = isChat ? chatBody(asked) : responsesBody(asked);
  const response = await proxy.post(isChat ? '/v1/chat/completions' : '/v1/responses', {
    ...body,
    ...asked.more,
    stream: isStream,
  });
  const { status } = response;
  if (!isStream || status !== 200) {
    const answer = (await response.json()) as JsonObject;
    const code = objectIn(answer, 'error')['code'];
    if (typeof code === 'string') return { status, code, text: '', calls: [] };
    return { status, code: null, ...(isChat ? chatMessage(answer) : responseOutput(answer)) };
  }
  const events = eventsOf(await collectSse(response)) as readonly JsonObject[];
  return { status, ...(isChat ? chatChunks(events) : responseEvents(events)) };
};

/** All four, which should agree. */
export const askAll = (proxy: TestProxy, asked: Asked): Promise<Seen[]> =>
  WAYS.reduce<Promise<Seen[]>>(
    async (before, way) => [...(await before), await askBy(proxy, way, asked)],
    Promise.resolve([]),
  );

/** The same result four times. */
export const inAllWays = (seen: Partial<Seen>): readonly Seen[] =>
  WAYS.map(() => ({ status: 200, code: null, text: '', calls: [], ...seen }));

const MODEL = 'gpt-5.5';

const responsesBody = ({ tools, choice }: Asked): JsonObject =>
  ({
    model: MODEL,
    input: 'hi',
    tools,
    ...(choice === undefined ? {} : { tool_choice: choice }),
  }) as JsonObject;

const chatBody = ({ tools, choice }: Asked): JsonObject =>
  ({
    model: MODEL,
    messages: [{ role: 'user', content: 'hi' }],
    tools: tools.map(deeper),
    ...(choice === undefined ? {} : { tool_choice: chatChoice(choice) }),
  }) as JsonObject;

/** Chat nests the fields of a tool one level deeper. */
const deeper = ({ type, ...fields }: JsonObject): JsonObject =>
  typeof type === 'string' ? { type, [type]: fields } : fields;

const chatChoice = (choice: unknown): unknown => {
  if (!isJsonObject(choice)) return choice;
  const { type, mode, tools } = choice;
  if (type !== 'allowed_tools') return deeper(choice);
  const list = Array.isArray(tools) ? (tools as readonly JsonObject[]).map(deeper) : [];
  return { type, allowed_tools: { mode, tools: list } };
};

const objectIn = (object: JsonObject, key: string): JsonObject => {
  const value = object[key];
  return isJsonObject(value) ? value : {};
};
const objectsIn = (object: JsonObject, key: string): readonly JsonObject[] => {
  const value = object[key];
  return Array.isArray(value) ? (value as readonly JsonObject[]).filter(isJsonObject) : [];
};
const textIn = (object: JsonObject, key: string): string => {
  const value = object[key];
  return typeof value === 'string' ? value : '';
};

const responseOutput = (response: JsonObject): Pick<Seen, 'text' | 'calls'> => {
  const output = objectsIn(response, 'output');
  return {
    text: output
      .flatMap((item) => objectsIn(item, 'content'))
      .map((part) => textIn(part, 'text'))
      .join(''),
    calls: output.flatMap((item): Seen['calls'] => {
      const name = textIn(item, 'name');
      if (item['type'] === 'function_call') return [['function', name, textIn(item, 'arguments')] as const];
      return item['type'] === 'custom_tool_call' ? [['custom', name, textIn(item, 'input')] as const] : [];
    }),
  };
};

/** The stream's last event, which must agree with its deltas. */
const responseEvents = (events: readonly JsonObject[]): Omit<Seen, 'status'> => {
  const last = objectIn(events.at(-1) ?? {}, 'response');
  const seen = responseOutput(last);
  const written = new Map<unknown, string>();
  for (const event of events) {
    const isInput = /(?:function_call_arguments|custom_tool_call_input)\.delta$/.test(textIn(event, 'type'));
    if (!isInput) continue;
    written.set(event['item_id'], (written.get(event['item_id']) ?? '') + textIn(event, 'delta'));
  }
  const inputs = [...written.values()];
  if (inputs.some((input, index) => input !== seen.calls[index]?.[2])) {
    throw new Error(`the deltas ${JSON.stringify(inputs)} are not the calls ${JSON.stringify(seen.calls)}`);
  }
  const error = events.find((event) => event['type'] === 'error');
  return { code: error === undefined ? null : textIn(error, 'code'), ...seen };
};

const callOf = (call: JsonObject): readonly [string, string, string] => {
  const kind = call['custom'] === undefined ? 'function' : 'custom';
  const said = objectIn(call, kind);
  return [kind, textIn(said, 'name'), textIn(said, kind === 'custom' ? 'input' : 'arguments')];
};

const chatMessage = (answer: JsonObject): Pick<Seen, 'text' | 'calls'> => {
  const message = objectIn(objectsIn(answer, 'choices')[0] ?? {}, 'message');
  return { text: textIn(message, 'content'), calls: objectsIn(message, 'tool_calls').map(callOf) };
};

const chatChunks = (chunks: readonly JsonObject[]): Omit<Seen, 'status'> => {
  const calls: [string, string, string][] = [];
  let text = '';
  let code: string | null = null;
  for (const chunk of chunks) {
    const error = textIn(objectIn(chunk, 'error'), 'code');
    if (error !== '') code = error;
    const delta = objectIn(objectsIn(chunk, 'choices')[0] ?? {}, 'delta');
    text += textIn(delta, 'content');
    for (const part of objectsIn(delta, 'tool_calls')) {
      const [kind, name, input] = callOf(part);
      const index = Number(part['index']);
      const known = calls[index];
      if (known === undefined) calls[index] = [kind, name, input];
      else known[2] += input;
    }
  }
  return { code, text, calls };
};
