import { describe, expect, it } from 'vitest';

import { namedSessionOf, conversationNamedIn } from './session.ts';

describe('sessionOf', () => {
  it.each([
    [{}, null],
    [{ 'session-id': '' }, null],
    [{ 'session-id': 's' }, 's'],
    [{ session_id: 's', conversation_id: 'c' }, 'c'],
    [{ 'session-id': 's', 'thread-id': 't' }, 't'],
    [{ 'x-session-id': 'x', originator: 'codex_exec' }, 'x'],
    [{ 'session-id': 's', 'x-openai-subagent': 'review' }, '["s","review"]'],
    [{ 'x-openai-subagent': 'review' }, null],
    [{ 'x-claude-code-session-id': 's' }, 's'],
    [{ 'x-claude-code-session-id': 's', 'x-claude-code-agent-id': 'a' }, '["s","a"]'],
  ])('%j is %j', (headers, name) => {
    expect(conversationNamedIn(new Headers(headers))).toBe(name);
  });
});

describe('namedSessionOf', () => {
  it('returns the names that codex sends', () => {
    const headers = {
      'session-id': '01a1e43a-ad54-75a0-8731-595882578963',
      'thread-id': '01a1e43a-ad86-7980-9744-fba808aa51c2',
      'x-openai-subagent': 'review',
      originator: 'Codex Desktop',
    };
    expect(namedSessionOf(new Headers(headers))).toEqual({
      session: '01a1e43a-ad54-75a0-8731-595882578963',
      thread: '01a1e43a-ad86-7980-9744-fba808aa51c2',
      subagent: 'review',
      originator: 'Codex Desktop',
    });
  });

  it('returns the names that Claude Code sends', () => {
    const headers = { 'x-claude-code-session-id': 'b1d2', 'x-claude-code-agent-id': 'a6f' };
    expect(namedSessionOf(new Headers(headers))).toEqual({
      session: 'b1d2',
      thread: null,
      subagent: 'a6f',
      originator: null,
    });
  });

  it.each(['{"a":1}', 'a'.repeat(129), 'a\tb', '<x>', ' '])('%j is not a valid name', (value) => {
    expect(namedSessionOf(new Headers({ 'thread-id': value, originator: value }))).toBeNull();
  });
});
