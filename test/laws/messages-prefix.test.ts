import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { projectBlocks } from '../../src/anthropic/messages/output/blocks.ts';
import { readReasoning } from '../../src/anthropic/messages/reasoning/thinking-block.ts';
import type { Item, Produced } from '../../src/canonical/request/item.ts';
import type { TurnRequest } from '../../src/canonical/request/turn-request.ts';
import { Refusals } from '../../src/codex/capabilities/refusals.ts';
import { ReasoningMemory } from '../../src/engine/memory/reasoning-memory.ts';
import { assertNever } from '../../src/kit/assert-never.ts';
import { isJsonObject, type JsonObject } from '../../src/kit/json/json.ts';
import { read } from '../support/messages-ask.ts';
import { turnContext } from '../support/turn-request.ts';

/**
 * Law: while a conversation of Claude Code grows, each request begins with the request before it, and its tools stay the
 * same, so that the backend finds the prompt in its cache. The client changes much in between: the billing block, the
 * places of `cache_control`, the form of texts, the arguments of calls, and the list of tools.
 */
type Step =
  | { readonly kind: 'say'; readonly text: string }
  | { readonly kind: 'remind'; readonly text: string; readonly effort: string }
  | { readonly kind: 'call'; readonly answers: readonly Called[]; readonly thinks: boolean }
  | { readonly kind: 'load'; readonly names: readonly string[] }
  | { readonly kind: 'change'; readonly type: 'tool_addition' | 'tool_removal'; readonly name: string };

interface Called {
  readonly input: JsonObject;
  readonly output: string;
  readonly isError: boolean;
}

const LATE = ['Fetch', 'Monitor', `mcp__docs__${'search'.repeat(12)}`, 'Zip'];
const text = fc.string({ minLength: 1, maxLength: 12 }).filter((one) => one.trim() !== '');
const called: fc.Arbitrary<Called> = fc.record({
  input: fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 })),
  output: fc.string({ maxLength: 12 }),
  isError: fc.boolean(),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('say'), text } as const),
  fc.record({ kind: fc.constant('remind'), text, effort: fc.constantFrom('low', 'high') } as const),
  fc.record({
    kind: fc.constant('call'),
    answers: fc.array(called, { minLength: 1, maxLength: 3 }),
    thinks: fc.boolean(),
  } as const),
  fc.record({ kind: fc.constant('load'), names: fc.subarray([...LATE, 'Gone'], { minLength: 1 }) } as const),
  fc.record({
    kind: fc.constant('change'),
    type: fc.constantFrom('tool_addition', 'tool_removal'),
    name: fc.constantFrom(...LATE, 'Read'),
  } as const),
);

const signer = {
  sign: (one: string) => `sealed ${one}`,
  open: (one: string) => one.slice('sealed '.length),
};
const DISPLAY = { thinking: 'summarized', signer } as const;

/** The arguments as a client sends them back: in another order, with a default. */
const rewritten = (block: JsonObject): JsonObject => {
  if (block['type'] !== 'tool_use' || !isJsonObject(block['input'])) return block;
  const members = Object.entries(block['input']).toReversed();
  return { ...block, input: { ...Object.fromEntries(members), 'added by the client': false } };
};

/** A client like Claude Code, whose messages grow. */
class Client {
  readonly #messages: JsonObject[] = [];
  readonly #loaded = new Set<string>();
  #requests = 0;
  #calls = 0;

  add(role: string, content: readonly JsonObject[], more: JsonObject = {}): void {
    this.#messages.push({ role, content, ...more });
  }

  load(names: readonly string[]): void {
    for (const name of names) if (LATE.includes(name)) this.#loaded.add(name);
  }

  callId(): string {
    this.#calls += 1;
    return `call_Ab3dEf6hIj9lMn2pQr5t${this.#calls}`;
  }

  /** The next request: the last block is marked for the cache, and other blocks may be plain texts. */
  body(): object {
    this.#requests += 1;
    const mark = { cache_control: { type: 'ephemeral' } };
    const messages = this.#messages.map((message, index) => {
      const content = message['content'] as readonly JsonObject[];
      const isLast = index === this.#messages.length - 1;
      if (isLast) return { ...message, content: [...content.slice(0, -1), { ...content.at(-1), ...mark }] };
      const [first] = content;
      return content.length === 1 && first?.['type'] === 'text'
        ? { ...message, content: first['text'] }
        : message;
    });
    return {
      system: [
        { type: 'text', text: `x-anthropic-billing-header: cc_version=2.1.325.${this.#requests};` },
        { type: 'text', text: 'You are an agent.', ...mark },
      ],
      messages,
      tools: this.#tools(),
    };
  }

  /** Sorted by name, with those that were found since. */
  #tools(): readonly JsonObject[] {
    const tool = (name: string) => ({ name, description: `Does ${name}.`, input_schema: { type: 'object' } });
    const late = this.#loaded.size === 0 ? ['DeferredToolPlaceholder'] : [...this.#loaded];
    return [
      ...['Bash', 'Read', 'ToolSearch'].map(tool),
      ...late.map((name) => ({ ...tool(name), defer_loading: true })),
    ].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  }
}

const callOf = (callId: string, name: string, input: JsonObject): Produced => ({
  kind: 'tool-call',
  id: `fc_${callId}`,
  tool: 'function',
  callId,
  name,
  input: JSON.stringify(input, null, 1),
});

/** The answer of the model to the request before a step, and what the client adds in this step. */
const take = (client: Client, one: Step): readonly Produced[] => {
  const asText = (said: string): JsonObject => ({ type: 'text', text: said });
  switch (one.kind) {
    case 'say':
      client.add('user', [asText(one.text), asText('<reminder>')]);
      return [];
    case 'remind':
      client.add('system', [asText(one.text)], { output_config: { effort: one.effort } });
      return [];
    case 'change':
      if (one.type === 'tool_addition') client.load([one.name]);
      client.add('system', [
        { type: one.type, tool: { type: 'tool_reference', name: one.name } },
        asText('Changed.'),
      ]);
      return [];
    case 'load': {
      const id = client.callId();
      client.load(one.names);
      const answer = [callOf(id, 'ToolSearch', { query: 'x' })];
      client.add('assistant', (projectBlocks(answer, DISPLAY) as readonly JsonObject[]).map(rewritten));
      const content = one.names.map((name) => ({ type: 'tool_reference', tool_name: name }));
      client.add('user', [{ type: 'tool_result', tool_use_id: id, content }]);
      return answer;
    }
    case 'call': {
      const ids = one.answers.map(() => client.callId());
      const calls = one.answers.map(({ input }, index) => callOf(ids[index] ?? '', 'Read', input));
      const thought: Produced = {
        kind: 'reasoning',
        id: `rs_${ids[0]}`,
        summary: ['a', 'b'],
        encryptedContent: 'e',
      };
      const answer = [...(one.thinks ? [thought] : []), ...calls];
      client.add('assistant', (projectBlocks(answer, DISPLAY) as readonly JsonObject[]).map(rewritten));
      client.add(
        'user',
        one.answers.map(({ output, isError }, index) => ({
          type: 'tool_result',
          tool_use_id: ids[index] ?? '',
          content: output,
          is_error: isError,
        })),
      );
      return answer;
    }
    default:
      return assertNever(one);
  }
};

it('a request begins with the one before it, and with the same tools', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 10 }), (steps) => {
      const clock = { now: () => 0 };
      const memory = new ReasoningMemory({ maxBytes: 10_000_000, clock, onChange() {} });
      const backend = memory.of('backend', new Refusals(clock));
      const client = new Client();
      client.add('user', [{ type: 'text', text: 'Begin.' }]);
      const ask = (): TurnRequest =>
        read(client.body(), { readReasoning: (block) => readReasoning(block, signer) }).request;
      let last = ask();
      let sent: readonly Item[] = last.items;
      for (const one of steps) {
        const answer = take(client, one);
        if (answer.length > 0) backend.remember({ request: last, context: turnContext() }, answer);
        const next = ask();
        const { items } = backend.recall({ request: next, context: turnContext() }).history;
        expect(JSON.stringify(items.slice(0, sent.length))).toBe(JSON.stringify(sent));
        expect([next.tools, next.instructions]).toEqual([last.tools, last.instructions]);
        // The answer follows, with the model's own text of arguments.
        const own = answer.map((item) => ('input' in item ? item.input : item.kind));
        const shown = items.slice(sent.length, sent.length + own.length);
        expect(shown.map((item) => ('input' in item ? item.input : item.kind))).toEqual(own);
        last = next;
        sent = items;
      }
    }),
  );
});
