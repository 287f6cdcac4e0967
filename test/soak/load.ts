import type { Script } from '../../src/demo/model-server.ts';
import { askStream, askWhole, endOf, sendRaw, textIn } from '../faults/client.ts';
import type { TestProxy } from '../support/proxy.ts';
import * as scripts from '../support/scripts.ts';
import { readSse, type SseFrame } from '../support/sse.ts';

const AT_ONCE = 8;

const TOOL = {
  type: 'function',
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
};

/** The prompt determines what the model does. */
export const script: Script = (request, connection) => {
  const asked = JSON.stringify(request.body['input']);
  if (asked.includes('call a tool')) return scripts.toolCall()(request, connection);
  if (asked.includes('never finish')) return scripts.hangMidStream(request, connection);
  return scripts.hello(request, connection);
};

const ask = (input: string) => ({ model: 'gpt-5.5', input });

/** Each kind of request, and its only right answer. */
const KINDS = {
  async stream(proxy: TestProxy) {
    const { status, frames } = await askStream(proxy, ask('say hello'));
    return [status, textIn(frames), endOf(frames).last.at(-2)].join(' ');
  },
  async whole(proxy: TestProxy) {
    const { status, body } = await askWhole(proxy, ask('say hello'));
    return [status, body['status']].join(' ');
  },
  async tool(proxy: TestProxy) {
    const { status, body } = await askWhole(proxy, { ...ask('call a tool'), tools: [TOOL] });
    const output = body['output'] as readonly { readonly type: string; readonly name?: string }[];
    const calls = output.filter((item) => item.type === 'function_call');
    return [status, ...calls.map((call) => call.name)].join(' ');
  },
  async aborted(proxy: TestProxy) {
    const client = sendRaw(proxy, { ...ask('never finish'), stream: true });
    const frames: SseFrame[] = [];
    for await (const frame of readSse(await client.response)) {
      frames.push(frame);
      if (textIn(frames) === 'Wait for') break;
    }
    client.destroy();
    return textIn(frames);
  },
} as const satisfies Record<string, (proxy: TestProxy) => Promise<string>>;

const RIGHT: Readonly<Record<keyof typeof KINDS, string>> = {
  stream: '200 Hello from the scripted model. response.completed',
  whole: '200 completed',
  tool: '200 get_weather',
  aborted: 'Wait for',
};

const MIX = ['stream', 'whole', 'stream', 'tool', 'stream', 'whole', 'stream', 'aborted'] as const;

/** Sends requests of all kinds, some at once, until stopped; returns the wrong answers. */
export const runLoad = async (
  proxy: TestProxy,
  isEnough: (sent: number) => boolean,
  onEach: () => void = () => {},
): Promise<readonly string[]> => {
  const wrong: string[] = [];
  let sent = 0;
  const client = async (): Promise<void> => {
    while (!isEnough(sent)) {
      const index = sent;
      sent += 1;
      const kind = MIX[index % MIX.length] ?? 'whole';
      const answer = await KINDS[kind](proxy).catch((error: unknown) => String(error));
      if (answer !== RIGHT[kind]) wrong.push(`${index} ${kind}: ${answer}`);
      onEach();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  return wrong;
};
