import { describe, expect, it } from 'vitest';

import { readReview, reviewInWords } from './answer.ts';

describe('readReview', () => {
  const finding = (more: object): object => ({ title: 'A bug', body: 'It breaks.', ...more });
  const place = { absolute_file_path: '/a.ts', line_range: { start: 1, end: 2 } };

  it.each([
    ['Looks good.', null],
    ['{"findings": 7}', null],
    ['{"find', null],
    ['{"findings":[]}', ''],
    ['Here it is:\n```json\n{"findings":[],"overall_explanation":"Fine."}\n```', 'Fine.'],
    [JSON.stringify({ findings: [finding({})] }), '- A bug\n  It breaks.'],
    [
      JSON.stringify({ overall_explanation: 'No.', findings: [finding({ code_location: place }), 7] }),
      'No.\n\n- A bug — /a.ts:1-2\n  It breaks.',
    ],
    [
      JSON.stringify({ findings: [finding({ code_location: { ...place, line_range: { start: {} } } })] }),
      '- A bug — /a.ts\n  It breaks.',
    ],
  ])('reads %j', (text, words) => {
    const review = readReview(text);
    expect(review === null ? null : reviewInWords(review)).toBe(words);
  });
});
