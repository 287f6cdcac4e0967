import { describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { CLAUDE, HAS_CLAUDE } from '../support/claude-code.ts';
import { openProxy } from '../support/open-proxy.ts';
import { contextLengthExceeded, hello, http400, inTurn, says } from '../support/scripts.ts';
import { call, claudeRooms, expectGrowing, userText, watch, workIn } from './claude-session.ts';
import { itemsOf } from './rounds.ts';

/** The real Claude Code in long conversations, and with sub-agents. */

const proxy = await openProxy(hello);
const openRoom = claudeRooms(() => proxy);

const TOO_LONG =
  "This model's maximum context length is 272000 tokens. However, you requested 300000 tokens.";
const SUMMARY = 'All that was said before.';
const summarises = says([{ text: `<analysis>Long.</analysis>\n<summary>${SUMMARY}</summary>` }]);

/** Answers a request for a summary with one, and every other request with the script. */
const orSummary =
  (script: Script): Script =>
  (request, connection) =>
    (asksForSummary(request.body) ? summarises : script)(request, connection);

const asksForSummary = (body: JsonObject): boolean =>
  JSON.stringify(itemsOf(body).at(-1)).includes('Respond with TEXT ONLY');

/** How each request is made: by the user, for a summary, or after one. */
const kindsOf = (bodies: readonly JsonObject[]): readonly string[] =>
  bodies.map((body) => {
    if (asksForSummary(body)) return 'summary';
    return userText(body).includes(SUMMARY) ? 'continued' : 'plain';
  });

describe.skipIf(!HAS_CLAUDE)('compaction', { meta: { needs: CLAUDE } }, () => {
  it.each([
    ['without numbers', contextLengthExceeded],
    ['with numbers', http400(TOO_LONG, 'input', 'context_length_exceeded')],
  ])('follows when the backend says that the prompt is too long, %s', async (_, fault) => {
    const room = await openRoom();
    const answers = inTurn(says([{ text: 'One.' }]), fault, says([{ text: 'Two.' }]));
    const sent = watch(proxy, orSummary(answers));
    const { code, results, lines } = await room.talk(['first question', 'second question']);
    expect([code, results.map(({ result }) => result)]).toEqual([0, ['One.', 'Two.']]);
    expect(kindsOf(sent())).toEqual(['plain', 'plain', 'summary', 'continued']);
    expect(lines).toContainEqual(
      expect.objectContaining({
        subtype: 'compact_boundary',
        compact_metadata: expect.objectContaining({ trigger: 'auto' }),
      }),
    );
    expect(new Set(sent().map(({ prompt_cache_key: key }) => key)).size).toBe(1);
  });

  it('follows when the usage of an answer reaches the window', async () => {
    const room = await openRoom({ CLAUDE_CODE_AUTO_COMPACT_WINDOW: '272000' });
    const full = {
      inputTokens: 270_000,
      cachedInputTokens: 200_000,
      cacheWriteInputTokens: 0,
      outputTokens: 1_000,
      reasoningTokens: 0,
      totalTokens: 271_000,
    };
    const sent = watch(
      proxy,
      orSummary(
        inTurn(
          says([{ text: 'One.' }]),
          says([{ text: 'Two.' }], { usage: full }),
          says([{ text: 'Three.' }]),
        ),
      ),
    );
    const { code, results } = await room.talk(['first question', 'second question', 'third question']);
    expect([code, results.map(({ result }) => result)]).toEqual([0, ['One.', 'Two.', 'Three.']]);
    expect(kindsOf(sent())).toEqual(['plain', 'plain', 'summary', 'continued']);
  });

  it('is done by /compact, and the summary takes the place of what was said', async () => {
    const room = await openRoom();
    const sent = watch(proxy, orSummary(inTurn(says([{ text: 'One.' }]), says([{ text: 'Two.' }]))));
    const { code, results } = await room.talk(['first question', '/compact', 'second question']);
    expect([code, results.map(({ result }) => result)]).toEqual([0, ['One.', '', 'Two.']]);
    expect(kindsOf(sent())).toEqual(['plain', 'summary', 'continued']);
    // The summary is written from the cached prompt.
    expectGrowing(sent().slice(0, 2));
    expect(userText(sent()[2])).not.toContain('first question');
  });
});

describe.skipIf(!HAS_CLAUDE)('Claude Code', { meta: { needs: CLAUDE } }, () => {
  it('runs sub-agents at once, each in a conversation of its own', async () => {
    const room = await openRoom();
    const agent = (n: number) =>
      call(`call_${n}`, 'Agent', {
        description: `look ${n}`,
        prompt: `as agent ${n}, look around`,
        subagent_type: 'general-purpose',
        run_in_background: false,
      });
    const main = inTurn(says([agent(1), agent(2)]), says([{ text: 'Both have looked.' }]));
    const agentOf = (body: JsonObject): string | undefined => /as agent (\d)/.exec(userText(body))?.[1];
    const sent = watch(proxy, (request, connection) => {
      const n = agentOf(request.body);
      if (n === undefined) return main(request, connection);
      const answer =
        workIn(request.body).length === 0
          ? [call(`call_a${n}`, 'Bash', { command: `echo ${n}` })]
          : [{ text: `Seen by ${n}.` }];
      return says(answer)(request, connection);
    });
    const { code, result } = await room.ask('let two agents look');
    expect([code, result['result']]).toEqual([0, 'Both have looked.']);
    const byAgent = Map.groupBy(sent(), agentOf);
    expect([...byAgent.values()].map((bodies) => bodies.length)).toEqual([2, 2, 2]);
    for (const bodies of byAgent.values()) expectGrowing(bodies);
    const keys = [...byAgent.values()].map(([first]) => first?.['prompt_cache_key']);
    expect(new Set(keys).size).toBe(3);
    // In the order in which they ended.
    const outputs = workIn(byAgent.get(undefined)?.[1]).filter(({ type }) => type === 'function_call_output');
    const seen = outputs.map(({ call_id: id, output }) => [
      id,
      /Seen by \d/.exec(JSON.stringify(output))?.[0],
    ]);
    expect(new Map(seen as [string, string][])).toEqual(
      new Map([
        ['call_1', 'Seen by 1'],
        ['call_2', 'Seen by 2'],
      ]),
    );
  });
});
