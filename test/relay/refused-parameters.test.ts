import { describe, expect, it } from 'vitest';

import { failure } from '../../src/canonical/failure/failure.ts';
import { functionTool, NO_SAMPLING } from '../support/turn-request.ts';
import { completed, parsed, freshRelays, status, type Answer } from './backend.ts';

const start = freshRelays();

describe('a backend that refuses parameters', () => {
  const params = {
    sampling: { ...NO_SAMPLING, temperature: 0.5, topP: 0.5 },
    user: 'u',
    maxOutputTokens: 20,
  } as const;
  /** Refuses one after the other, as long as it finds one. */
  const refuses =
    (say: (name: string) => unknown, ...names: readonly string[]): Answer =>
    (response, connectionInfo, nth) => {
      const found = names.find((name) => Object.hasOwn(parsed(connectionInfo), name));
      return found === undefined
        ? completed(response, connectionInfo, nth)
        : status(400, say(found))(response, connectionInfo, nth);
    };
  const inOpenAIsWords = (name: string): unknown => ({
    error: {
      message: `Unsupported parameter: '${name}' is not supported with this model.`,
      type: 'invalid_request_error',
      param: name,
      code: 'unsupported_parameter',
    },
  });

  it.each([
    ['OpenAI', inOpenAIsWords],
    ['ChatGPT', (name: string) => ({ detail: `Unsupported parameter: ${name}` })],
    ['someone', (name: string) => ({ error: { message: `property '${name}' is unsupported` } })],
    [
      'pydantic',
      (name: string) => ({
        detail: [{ type: 'extra_forbidden', loc: ['body', name], msg: 'Extra inputs are not permitted' }],
      }),
    ],
  ])('is asked again without them, which is remembered: in the words of %s', async (_, say) => {
    const { backend, open, post, noted } = await start(
      refuses(say, 'temperature', 'user', 'max_output_tokens'),
    );
    const first = open('t1', params);
    expect((await post('t1', { model: 'm' })).status).toBe(200);
    expect(backend.arrivals.map((connectionInfo) => Object.keys(parsed(connectionInfo)).toSorted())).toEqual([
      ['input', 'max_output_tokens', 'model', 'prompt_cache_key', 'temperature', 'top_p', 'user'],
      ['input', 'max_output_tokens', 'model', 'prompt_cache_key', 'top_p', 'user'],
      ['input', 'max_output_tokens', 'model', 'prompt_cache_key', 'top_p'],
      ['input', 'model', 'prompt_cache_key', 'top_p'],
    ]);
    expect(noted).toEqual({
      retries: [],
      learnt: ['gpt-5.5 temperature', 'gpt-5.5 user', 'gpt-5.5 max_output_tokens'],
      lost: [],
      added: [],
      bugs: [],
      unplaced: 0,
      blocked: 0,
      served: 4,
      renewalsHeld: 0,
    });
    const learnt = { ignored: ['sampling.temperature'], limitsOutput: false };
    expect(first.relayTurn.report).toMatchObject(learnt);
    const second = open('t2', params);
    expect(second.relayTurn.report).toMatchObject(learnt);
    expect((await post('t2', { model: 'm' })).status).toBe(200);
    expect(backend.arrivals).toHaveLength(5);
    // Another of its models may accept them.
    expect(open('t3', { ...params, model: 'gpt-6' }).relayTurn.report).toMatchObject({
      ignored: [],
      limitsOutput: true,
    });
  });

  it('is believed only if it answers without them', async () => {
    const { open, post, noted } = await start(status(400, { error: { message: 'Unknown user.' } }));
    const { refused } = open('t1', params);
    expect((await post('t1', {})).status).toBe(400);
    expect(noted.learnt).toEqual([]);
    expect(refused()).toEqual(failure('invalid_prompt', { message: 'Unknown user.' }));
    expect(open('t2', params).relayTurn.report.ignored).toEqual([]);
  });

  it('is not misunderstood if the client is wrong', async () => {
    const wrong = [
      {
        error: {
          message: "Invalid schema for function 'f'.",
          param: 'tools[0].parameters',
          code: 'invalid_function_parameters',
        },
      },
      {
        error: {
          message: "Unknown parameter: 'tools[0].strict'.",
          param: 'tools[0].strict',
          code: 'unknown_parameter',
        },
      },
      {
        error: {
          message: "Invalid 'temperature': decimal above maximum value.",
          param: 'temperature',
          code: 'decimal_above_max_value',
        },
      },
    ];
    let nth = 0;
    const { backend, open, post } = await start((response, connectionInfo) =>
      status(400, wrong[nth])(response, connectionInfo, nth),
    );
    const tools = [functionTool('f', { parameters: { type: 'object' }, strict: true })];
    for (const { error } of wrong) {
      const { refused } = open(`t${nth}`, { ...params, tools });
      expect((await post(`t${nth}`, {})).status).toBe(400);
      expect(refused()).toEqual(failure('invalid_prompt', error));
      nth += 1;
    }
    expect(backend.arrivals).toHaveLength(wrong.length);
  });

  it('that refuses everything is asked a limited number of times', async () => {
    const { backend, open, post } = await start((response, connectionInfo, nth) => {
      const name = Object.keys(parsed(connectionInfo)).find((one) => one !== 'model') ?? 'temperature';
      return status(400, inOpenAIsWords(name))(response, connectionInfo, nth);
    });
    open('t1', { ...params, serviceTier: 'flex', parallelToolCalls: false });
    expect((await post('t1', { model: 'm' })).status).toBe(400);
    expect(backend.arrivals.length).toBeLessThanOrEqual(9);
  });

  it('loses what codex itself sends, if it refuses that', async () => {
    const { backend, open, post } = await start(refuses(inOpenAIsWords, 'service_tier', 'prompt_cache_key'));
    const { relayTurn } = open('t1', { serviceTier: 'flex' });
    expect((await post('t1', { service_tier: 'flex', prompt_cache_key: 't1', x: 1 })).status).toBe(200);
    expect(parsed(backend.arrivals.at(-1))).toEqual({ model: 'gpt-5.5', input: [], x: 1 });
    expect(relayTurn.report.ignored).toEqual(['serviceTier']);
    const again = open('t2', { serviceTier: 'flex' });
    expect((await post('t2', { service_tier: 'flex', prompt_cache_key: 't2', x: 1 })).status).toBe(200);
    expect(parsed(backend.arrivals.at(-1))).toEqual({ model: 'gpt-5.5', input: [], x: 1 });
    expect(again.relayTurn.report.ignored).toEqual(['serviceTier']);
    // The key is known to be refused by now; a tier is sent again, since another one may be accepted.
    expect(backend.arrivals).toHaveLength(5);
  });
});
