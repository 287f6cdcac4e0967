import { describe, expect, it } from 'vitest';

import { GatewayError } from '../../canonical/failure/failure.ts';
import { readReportQuery, pageCursor, readUsageQuery } from './usage-query.ts';

const problemOf = (read: () => unknown): unknown => {
  try {
    read();
  } catch (error) {
    if (error instanceof GatewayError) return [error.failure.param, error.failure.message];
  }
  return null;
};

describe('readUsageQuery', () => {
  it('reads all parameters, in both forms of lists', () => {
    const query = new URLSearchParams([
      ['start_time', '1730419200'],
      ['end_time', '1730505600'],
      ['bucket_width', '1h'],
      ['limit', '168'],
      ['page', pageCursor(1_730_422_800)],
      ['group_by[]', 'model'],
      ['group_by[]', 'batch'],
      ['api_key_ids', 'a'],
      ['api_key_ids', 'b'],
      ['models[0]', 'm'],
      ['batch', 'false'],
    ]);
    expect(readUsageQuery(query)).toEqual({
      startTime: 1_730_419_200,
      endTime: 1_730_505_600,
      width: '1h',
      limit: 168,
      page: 1_730_422_800,
      groupBy: new Set(['model', 'batch']),
      apiKeyIds: ['a', 'b'],
      models: ['m'],
      batch: false,
    });
  });

  it('has the defaults of OpenAI', () => {
    const usual = {
      startTime: 0,
      endTime: null,
      width: '1d',
      limit: 7,
      page: null,
      groupBy: new Set(),
      apiKeyIds: null,
      models: null,
      batch: null,
    };
    expect(readUsageQuery(new URLSearchParams('start_time=0'))).toEqual(usual);
    expect(readUsageQuery(new URLSearchParams('start_time=0&bucket_width=1h'))).toEqual({
      ...usual,
      width: '1h',
      limit: 24,
    });
  });

  it.each([
    ['', ['start_time', "Missing required parameter: 'start_time'."]],
    [
      'start_time=x',
      ['start_time', "Invalid type for 'start_time': expected a decimal, but got a string instead."],
    ],
    [
      'start_time=5&end_time=5',
      ['end_time', "Invalid 'end_time': it must be later than 'start_time' (5), but got 5."],
    ],
    [
      'start_time=5&bucket_width=1m',
      [
        'bucket_width',
        "Unsupported parameter: 'bucket_width'. This server records usage by the hour. Use '1h' or '1d'.",
      ],
    ],
    [
      'start_time=5&bucket_width=2d',
      ['bucket_width', "Invalid value: '2d'. Supported values are: '1m', '1h', and '1d'."],
    ],
    [
      'start_time=5&limit=32',
      ['limit', "Invalid 'limit': integer above maximum value. Expected a value <= 31, but got 32 instead."],
    ],
    [
      'start_time=5&project_ids[]=p',
      ['project_ids', "Unsupported parameter: 'project_ids'. This server has no projects and no users."],
    ],
    [
      'start_time=5&group_by=line_item',
      [
        'group_by[0]',
        "Invalid value: 'line_item'. Supported values are: 'project_id', 'user_id', 'api_key_id', 'model', 'batch', 'service_tier', and 'api_source'.",
      ],
    ],
    ...['page_1', 'AAAA', pageCursor(0), pageCursor(3_601)].map((page) => [
      `start_time=0&page=${page}`,
      ['page', "Invalid 'page': use the 'next_page' of the answer before, with the same other parameters."],
    ]),
  ] as [string, [string, string]][])('rejects %j', (query, problem) => {
    expect(problemOf(() => readUsageQuery(new URLSearchParams(query)))).toEqual(problem);
  });
});

describe('readReportQuery', () => {
  it('ends now, and begins a day or a week before', () => {
    expect(readReportQuery(new URLSearchParams(), 999_999)).toEqual({
      startTime: 1_000_000 - 7 * 86_400,
      endTime: 1_000_000,
      width: '1d',
    });
    expect(readReportQuery(new URLSearchParams('bucket_width=1h&end_time=50'), 0)).toEqual({
      startTime: 0,
      endTime: 50,
      width: '1h',
    });
  });

  it('rejects a range with too many buckets', () => {
    const query = new URLSearchParams('start_time=0&end_time=604801&bucket_width=1h');
    expect(problemOf(() => readReportQuery(query, 0))).toEqual([
      'start_time',
      "Invalid 'start_time': integer below minimum value. Expected a value >= 1, but got 0 instead.",
    ]);
  });
});
