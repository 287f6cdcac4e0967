import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../kit/json.ts';
import { PastAnswers } from './later-requests.ts';

const call = (call_id: string): JsonObject => ({ type: 'function_call', call_id });
const gave = (call_id: string, output: JsonObject['output'] = 'ok'): JsonObject => ({
  type: 'function_call_output',
  call_id,
  ...(output === undefined ? {} : { output }),
});
const SAID: JsonObject = { type: 'message', content: [] };
const FILES: JsonObject = { type: 'file_search_call', id: 'fs_1', results: [] };
const WEB: JsonObject = { type: 'web_search_call', id: 'ws_1', action: { sources: ['a'] } };
const WEB_OF_CODEX: JsonObject = { type: 'web_search_call', id: 'ws_1', action: {} };

const past = (...answers: readonly (readonly JsonObject[])[]): PastAnswers => {
  const all = new PastAnswers();
  for (const answer of answers) {
    all.begin();
    for (const item of answer) all.add(item);
  }
  return all;
};

describe('a later request of a turn', () => {
  it('is as it is where nothing was answered, or nothing was dropped', () => {
    expect(past().restore([SAID])).toEqual([SAID]);
    const own = [SAID, call('1'), gave('1')];
    expect(past([SAID, call('1')]).restore(own)).toEqual(own);
  });

  it('has what codex dropped or thinned out at its place, answer by answer', () => {
    const answers = past([FILES, SAID, WEB, call('1'), call('2')], [call('3'), FILES]);
    const sent = [SAID, WEB_OF_CODEX, call('1'), call('2'), gave('1'), gave('2'), call('3'), gave('3')];
    expect(answers.restore(sent)).toEqual([
      FILES,
      SAID,
      WEB,
      call('1'),
      call('2'),
      gave('1'),
      gave('2'),
      call('3'),
      FILES,
      gave('3'),
    ]);
  });

  it('says of a tool what the tool said', () => {
    const time = { type: 'input_text', text: 'Wall time: 0.0047 seconds\nOutput:' };
    const text = { type: 'input_text', text: '5' };
    const image = { type: 'input_image', image_url: 'data:' };
    const outputs = [gave('1', [time, text]), gave('2', [time, text, image]), gave('3', [text])];
    expect(past([call('1')]).restore([call('1'), ...outputs])).toEqual([
      call('1'),
      gave('1', '5'),
      gave('2', [text, image]),
      gave('3', [text]),
    ]);
  });
});
