import { describe, expect, it } from 'vitest';

import type { AgentEvent, AgentItem, AgentSession, AgentTurn } from './agent-answers.ts';
import {
  afterEvents,
  MAX_OUTPUT_CHARS,
  openTurn,
  shownText,
  watchedOf,
  withEarlier,
  type Watched,
} from './watched.ts';

const SESSION = { id: 'asess_1', status: 'idle', required_actions: [] } as unknown as AgentSession;
const TURN: AgentTurn = {
  id: 'turn_1',
  status: 'in_progress',
  created_at: 1,
  started_at: 1,
  completed_at: null,
  error: null,
  usage: null,
};

const item = (id: string, fields: object = {}): AgentItem => ({
  id,
  type: 'message',
  turn_id: 'turn_1',
  role: 'assistant',
  status: 'completed',
  content: [],
  ...fields,
});

const COMMAND = { type: 'command_execution', command: 'ls', status: 'in_progress', output: null };
const EMPTY = watchedOf(SESSION, [TURN], []);

let count = 0;
const event = (type: string, fields: object): AgentEvent => {
  count += 1;
  return { type, event_id: `evt_${count}`, ...fields };
};
const added = (one: AgentItem): AgentEvent => event('agent.session.turn.item.added', { item: one });
const done = (one: AgentItem): AgentEvent => event('agent.session.turn.item.done', { item: one });
const text = (id: string, delta: string, place = 0): AgentEvent =>
  event('agent.session.turn.output_text.delta', { item_id: id, content_index: place, delta });
const output = (id: string, delta: string): AgentEvent =>
  event('agent.output.command_execution_output.delta', { item_id: id, delta });

const outputOf = (watched: Watched): string =>
  watched.turns
    .flatMap(({ entries }) => entries.flatMap((one) => one.output?.head ?? []))
    .map((one) => one.text)
    .join('');
const textsOf = (watched: Watched): readonly string[] =>
  watched.turns.flatMap(({ entries }) => entries.map(shownText));

describe('a session that is watched', () => {
  it('shows text and output as they arrive', () => {
    const watched = afterEvents(EMPTY, [
      added(item('m', { status: 'in_progress' })),
      added(item('c', COMMAND)),
      text('m', 'Hel'),
      text('m', 'lo'),
      output('c', 'one\n'),
      text('m', ', you', 1),
      output('c', 'two\n'),
    ]);
    expect(textsOf(watched)).toEqual(['Hello\n\n, you', '']);
    expect(outputOf(watched)).toBe('one\ntwo\n');
  });

  it('shows a command that goes on while later items come', () => {
    const running = afterEvents(EMPTY, [
      added(item('c', COMMAND)),
      output('c', 'one\n'),
      done(item('m')),
      output('c', 'two\n'),
    ]);
    const states = (watched: Watched) =>
      watched.turns.flatMap(({ entries }) => entries.map((entry) => [entry.item.id, entry.isDone]));
    expect(states(running)).toEqual([
      ['c', false],
      ['m', true],
    ]);
    expect(outputOf(running)).toBe('one\ntwo\n');
    const ended = afterEvents(running, [done(item('c', { ...COMMAND, status: 'failed', output: 'all' }))]);
    expect([states(ended)[0], outputOf(ended)]).toEqual([['c', true], 'all']);
  });

  it('takes what an item has when it is done', () => {
    const watched = afterEvents(EMPTY, [
      added(item('m', { status: 'in_progress' })),
      text('m', 'Helo'),
      done(item('m', { content: [{ type: 'output_text', text: 'Hello' }] })),
      added(item('c', COMMAND)),
      output('c', 'end\n'),
      done(item('c', { ...COMMAND, status: 'completed', output: 'begin\nend\n', exit_code: 0 })),
      text('m', ' again'),
      output('c', 'again'),
    ]);
    expect(textsOf(watched)).toEqual(['Hello', '']);
    expect(outputOf(watched)).toBe('begin\nend\n');
  });

  it('does not show twice what was loaded and comes as an event', () => {
    const loaded = watchedOf(SESSION, [TURN], [item('m', { content: [{ text: 'Hello' }] })]);
    const watched = afterEvents(loaded, [
      event('agent.session.turn.created', { turn: TURN }),
      added(item('m', { status: 'in_progress' })),
      text('m', 'Hello'),
      done(item('m', { content: [{ text: 'Hello' }] })),
      done(item('late', { content: [{ text: 'Bye' }] })),
      text('unknown', 'nothing'),
    ]);
    expect(textsOf(watched)).toEqual(['Hello', 'Bye']);
    expect(watched.turns.length).toBe(1);
  });

  it('ends what a turn leaves open', () => {
    const watched = afterEvents(EMPTY, [
      added(item('c', COMMAND)),
      event('agent.session.turn.cancelled', { turn: { ...TURN, status: 'cancelled' } }),
      event('agent.session.idle', { session: { ...SESSION, usage: null } }),
    ]);
    expect(watched.turns[0]?.entries[0]?.isDone).toBe(true);
    expect(openTurn(watched)).toBeNull();
    expect(openTurn(EMPTY)?.id).toBe('turn_1');
  });

  it('puts earlier items before those that are there', () => {
    const over: AgentTurn = { ...TURN, id: 'turn_0', status: 'completed' };
    const watched = watchedOf(SESSION, [TURN], [item('b'), item('c')]);
    const all = withEarlier(watched, [over], [item('z', { turn_id: 'turn_0' }), item('a'), item('b')]);
    expect(
      all.turns.map(({ id, turn, entries }) => [id, turn?.id, entries.map((one) => one.item.id)]),
    ).toEqual([
      ['turn_0', 'turn_0', ['z']],
      ['turn_1', 'turn_1', ['a', 'b', 'c']],
    ]);
  });

  it('has the newest plan, of a call or of an event', () => {
    const call = item('p', {
      type: 'mcp_call',
      name: 'update_plan',
      arguments: { plan: [{ step: 'One', status: 'pending' }] },
    });
    const planned = afterEvents(EMPTY, [done(call)]);
    expect(planned.plan).toEqual([{ step: 'One', status: 'pending' }]);
    const plan = [{ step: 'One', status: 'completed' }, { step: 'Two', status: 'odd' }, null];
    expect(afterEvents(planned, [event('codex.turn.plan.updated', { plan })]).plan).toEqual([
      { step: 'One', status: 'completed' },
      { step: 'Two', status: 'pending' },
    ]);
  });

  it('keeps a limited part of all outputs together', () => {
    const part = 'x'.repeat(180_000);
    let watched = EMPTY;
    for (let number = 0; number < 120; number += 1) {
      const id = `c${number}`;
      const events = [
        added(item(id, COMMAND)),
        output(id, `first ${number}\n${part}`),
        output(id, `\nlast ${number}\n`),
      ];
      watched = afterEvents(watched, [...events, done(item(id, { ...COMMAND, status: 'completed' }))]);
    }
    const entries = watched.turns[0]?.entries ?? [];
    const kept = entries.map(({ output: one }) =>
      [...(one?.head ?? []), ...(one?.tail ?? [])].map(({ text: words }) => words),
    );
    expect(kept.flat().join('').length).toBeLessThanOrEqual(MAX_OUTPUT_CHARS);
    expect(kept[0]?.join('')).toMatch(/^first 0\nx+\nlast 0\n$/);
    expect(kept.at(-1)?.join('').length).toBeGreaterThan(180_000);
  });

  it('says why the server ended the stream, and skips events that it does not know', () => {
    const failed = afterEvents(EMPTY, [
      event('error', { error: { message: 'Too much.' } }),
      event('new.thing', {}),
    ]);
    expect(failed.streamError).toBe('Too much.');
    expect(afterEvents(failed, [event('agent.session.idle', { session: SESSION })]).streamError).toBeNull();
  });
});
