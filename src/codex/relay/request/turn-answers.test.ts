import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../../kit/json/json.ts';
import type { UpstreamEvent } from '../../sources/upstream-event.ts';
import { TurnAnswers } from './turn-answers.ts';

type Item = JsonObject & { readonly type: string };

const message: Item = { type: 'message', id: 'msg_1', content: [] };
const call: Item = { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{}' };
const output: Item = { type: 'function_call_output', call_id: 'c', output: 'x' };
const files: Item = { type: 'file_search_call', id: 'fs_1', queries: [] };
const search: Item = { type: 'web_search_call', id: 'ws_1', action: { sources: [] } };
const listed: Item = { type: 'mcp_list_tools', id: 'mcpl_1', tools: [] };
const shell: Item = { type: 'shell_call', id: 'sh_1', call_id: 's' };
const ran: Item = { type: 'shell_call_output', call_id: 's', output: [] };

const BEGUN: UpstreamEvent = { kind: 'answer-started' };
const COMPLETED: UpstreamEvent = { kind: 'answer-ended', how: 'completed', response: null };
const answer = (...items: readonly Item[]): readonly UpstreamEvent[] => [
  BEGUN,
  ...items.map((item): UpstreamEvent => ({
    kind: 'answer-said',
    type: 'response.output_item.done',
    data: { item },
  })),
  COMPLETED,
];
const after = (...signals: readonly UpstreamEvent[]): TurnAnswers => {
  const answers = new TurnAnswers();
  for (const signal of signals) answers.see(signal);
  return answers;
};
/** What codex makes of an item that it knows. */
const codexs = (item: Item): Item => ({ type: item.type, mine: true });

describe('items that codex drops from an answer', () => {
  it('are restored at their position', () => {
    const answers = after(...answer(listed, message, files, search, call));
    expect(answers.restoreInto([codexs(message), codexs(search), codexs(call), output])).toEqual([
      listed,
      codexs(message),
      files,
      search,
      codexs(call),
      output,
    ]);
  });

  it('are restored even from an answer interrupted by steering', () => {
    const left: UpstreamEvent = { kind: 'answer-ended', how: 'left' };
    const said = { type: 'message', role: 'user' };
    const answers = after(...answer(files, message).slice(0, -1), left);
    expect(answers.restoreInto([codexs(message), said])).toEqual([files, codexs(message), said]);
  });

  it('of several answers follow the outputs in between', () => {
    const answers = after(...answer(call, files), ...answer(listed, call, message), ...answer(search));
    const behind = [call, output, output, call, message, output, search].map(codexs);
    expect(answers.restoreInto(behind)).toEqual([
      codexs(call),
      files,
      codexs(output),
      codexs(output),
      listed,
      codexs(call),
      codexs(message),
      codexs(output),
      search,
    ]);
  });

  it('are not restored if they wait for an answer that was not given', () => {
    expect(after(...answer(shell, listed)).restoreInto([])).toEqual([listed]);
    expect(after(...answer(shell, ran)).restoreInto([])).toEqual([shell, ran]);
  });

  it('may be only in the last event, and count only if the answer does', () => {
    const whole: UpstreamEvent = { kind: 'answer-ended', how: 'completed', response: { output: [files] } };
    expect(after(BEGUN, whole).restoreInto([])).toEqual([files]);
    const cut: UpstreamEvent = { kind: 'answer-ended', how: 'cut' };
    expect(after(...answer(files).slice(0, 2), cut, ...answer(listed)).restoreInto([])).toEqual([listed]);
    const behind = [call];
    expect(after(...answer(message)).restoreInto(behind)).toBe(behind);
  });
});
