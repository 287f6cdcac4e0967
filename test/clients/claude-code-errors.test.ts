import { describe, expect, it } from 'vitest';

import { CLAUDE, HAS_CLAUDE, openClaudeRoom } from '../support/claude-code.ts';
import { openProxy } from '../support/open-proxy.ts';
import {
  emptyAnswer,
  failed,
  hangMidStream,
  hello,
  http400,
  http404Model,
  http429,
  http500,
  incompleteMaxTokens,
  inTurn,
  refusal,
  says,
  usageLimit,
} from '../support/scripts.ts';
import { claudeRooms, userText, watch } from './claude-session.ts';

/** What the real Claude Code does about errors: it retries those that pass, and shows the others at once. */

const proxy = await openProxy(hello);
const openRoom = claudeRooms(() => proxy);
const ended = says([{ text: 'At last.' }]);

describe.skipIf(!HAS_CLAUDE)('Claude Code', { meta: { needs: CLAUDE } }, () => {
  it.each([
    ['a full backend', failed('server_is_overloaded', 'Too many users.')],
    ['a rate limit', http429(1)],
    ['a broken backend', http500],
  ])('tries again after %s', async (_, fault) => {
    const room = await openRoom();
    const sent = watch(proxy, inTurn(fault, ended));
    const { code, result } = await room.ask('are you there?');
    expect([code, result['result']]).toEqual([0, 'At last.']);
    expect(sent()).toHaveLength(2);
  });

  it.each([['the quota is used up', usageLimit(3600), 429, /usage limit/i, 1]])(
    'shows at once that %s',
    async (_, fault, status, message, requests) => {
      const room = await openRoom();
      const sent = watch(proxy, fault);
      const { code, result } = await room.ask('are you there?');
      expect([code, result['api_error_status'], result['result']]).toEqual([
        1,
        status,
        expect.stringMatching(message),
      ]);
      expect(sent()).toHaveLength(requests);
    },
  );

  it('shows which field is wrong', async () => {
    const room = await openRoom();
    watch(proxy, http400());
    const { code, result } = await room.ask('are you there?');
    expect([code, result['api_error_status'], result['result']]).toEqual([
      1,
      400,
      expect.stringContaining("Invalid value: 'purple'."),
    ]);
  });

  it('shows at once that the key is wrong, without the key itself', async () => {
    const room = await openClaudeRoom({ url: proxy.url, key: 'sk-this-is-the-wrong-one' });
    const sent = watch(proxy, ended);
    const before = proxy.log.length;
    const { code, result } = await room.ask('are you there?');
    await room.close();
    expect([code, result['api_error_status'], result['result']]).toEqual([
      1,
      401,
      expect.stringMatching(/^Failed to authenticate\. API Error: 401 /),
    ]);
    expect(result['result']).not.toContain('sk-this-is-the-wrong-one');
    expect(sent()).toEqual([]);
    expect(proxy.log.slice(before).filter(({ status }) => status === 401)).toHaveLength(1);
  });

  it('shows that there is no such model', async () => {
    const room = await openRoom();
    const sent = watch(proxy, http404Model());
    const { code, result } = await room.ask('are you there?', '--model', 'no-such-model');
    expect([code, result['api_error_status'], result['result']]).toEqual([
      1,
      404,
      expect.stringContaining('no-such-model'),
    ]);
    // It asks once more, without a stream.
    expect(sent()).toHaveLength(2);
  });

  it('continues an answer that reached the output limit', async () => {
    const room = await openRoom();
    const sent = watch(proxy, inTurn(incompleteMaxTokens, ended));
    const { code, result } = await room.ask('are you there?');
    expect([code, result['result']]).toEqual([0, expect.stringContaining('At last.')]);
    expect(sent()).toHaveLength(2);
    expect(userText(sent()[1])).toContain('Output token limit hit');
  });

  it('continues an answer that failed in its middle', async () => {
    const room = await openRoom();
    const broken = says([
      { text: 'This far and', end: 'open' },
      { fail: { code: 'server_error', message: 'The model had an accident.' } },
    ]);
    const sent = watch(proxy, inTurn(broken, ended));
    const { code, result } = await room.ask('are you there?');
    expect([code, result['result']]).toEqual([0, expect.stringContaining('At last.')]);
    expect(sent()).toHaveLength(2);
  });

  it('goes on after answers that are empty, cut in a call, or call a tool without valid JSON', async () => {
    const room = await openRoom();
    const cut = says([
      { call: { name: 'Bash', arguments: '{"command":"echo', callId: 'call_1' }, end: 'incomplete' },
      { incomplete: 'max_output_tokens' },
    ]);
    const invalid = says([{ call: { name: 'Bash', arguments: '{"command":', callId: 'call_2' } }]);
    const sent = watch(proxy, inTurn(emptyAnswer, ended, cut, ended, invalid, ended));
    const { code, results } = await room.talk(['are you there?', 'and now?', 'still?']);
    expect([code, results.map(({ result }) => result)]).toEqual([0, ['At last.', 'At last.', 'At last.']]);
    expect(sent()).toHaveLength(6);
  });

  it('ends the turn at the backend when it is killed', async () => {
    const room = await openClaudeRoom({ url: proxy.url, key: proxy.key });
    const sent = watch(proxy, hangMidStream);
    const answer = room.ask('are you there?');
    await expect.poll(() => sent().length, { timeout: 30_000 }).toBe(1);
    await room.close();
    await expect(proxy.model.requests.at(-1)?.ended).resolves.toBe('aborted');
    expect((await answer).code).toBeNull();
  });

  it('tries once more after a refusal, and says that the model refuses', async () => {
    const room = await openRoom();
    const sent = watch(proxy, refusal);
    const { results, lines } = await room.talk(['are you there?']);
    expect(results).toMatchObject([{ stop_reason: 'refusal' }]);
    expect(JSON.stringify(lines)).toContain('I will not help with that.');
    expect(sent()).toHaveLength(2);
  });
});
