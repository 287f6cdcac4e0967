import { describe, expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { hang, hello, http400, says } from '../support/scripts.ts';
import { collectSse, eventsOf } from '../support/sse.ts';
import { objectsIn, sentBody } from './responses-sent.ts';

const FINDING = {
  title: '[P1] The loop ends one too early',
  body: 'The last element is never read.',
  confidence_score: 0.9,
  priority: 1,
  code_location: { absolute_file_path: '/src/a.ts', line_range: { start: 3, end: 4 } },
};
const REVIEW = {
  findings: [FINDING],
  overall_correctness: 'patch is incorrect',
  overall_explanation: 'It leaves the last element out.',
  overall_confidence_score: 0.8,
};
const reviews = says([{ text: JSON.stringify(REVIEW) }]);
const ASK = {
  model: 'gpt-5.5-high',
  instructions: 'Look at the bounds.',
  input: '+for (i = 0; i < n - 1; i++)',
};

const [relayed, plain] = await Promise.all([openProxy(hello), openProxy(hello, { PROXY_WIRE: 'off' })]);

describe.each([
  ['with the relay', relayed],
  ['without it', plain],
])('a review %s', (_, proxy) => {
  it("returns the findings of codex's reviewer", async () => {
    proxy.use(reviews);
    const answer = await proxy.post('/v1/codex/reviews', ASK);
    expect([answer.status, await answer.json()]).toEqual([
      200,
      {
        id: expect.stringMatching(/^review_/),
        object: 'codex.review',
        created_at: expect.any(Number),
        model: 'gpt-5.5-high',
        status: 'completed',
        review: `${REVIEW.overall_explanation}\n\n- ${FINDING.title} — /src/a.ts:3-4\n  ${FINDING.body}`,
        ...REVIEW,
        usage: expect.objectContaining({ total_tokens: expect.any(Number) }),
      },
    ]);
    const sent = sentBody(proxy.model);
    expect(sent).toMatchObject({ model: 'gpt-5.5', reasoning: { effort: 'high' } });
    const last = objectsIn(sent['input']).at(-1);
    expect(last).toMatchObject({
      role: 'user',
      content: [{ type: 'input_text', text: `${ASK.instructions}\n\n${ASK.input}` }],
    });
    expect(JSON.stringify(sent['input'])).toContain('Review guidelines');
  });

  it('can be streamed, and ends when its client disconnects', async () => {
    proxy.use(reviews);
    const events = eventsOf(
      await collectSse(await proxy.post('/v1/codex/reviews', { ...ASK, stream: true })),
    );
    expect(events).toMatchObject([
      { type: 'codex.review.created', review: { object: 'codex.review', status: 'in_progress' } },
      { type: 'codex.review.completed', review: { status: 'completed', findings: [FINDING] } },
    ]);
    proxy.use(hang);
    const gone = new AbortController();
    const asking = proxy.post('/v1/codex/reviews', ASK, { signal: gone.signal });
    const before = proxy.model.requests.length;
    await expect.poll(() => proxy.model.requests.length).toBe(before + 1);
    gone.abort();
    await expect(asking).rejects.toThrow('aborted');
    expect(await proxy.model.requests.at(-1)?.ended).toBe('aborted');
  });
});

it('sends no feedback unless it is allowed', async () => {
  const answer = await relayed.post('/v1/codex/feedback', { classification: 'bug' });
  expect([answer.status, await answer.json()]).toMatchObject([
    404,
    { error: { code: 'endpoint_not_supported', message: expect.stringMatching(/PROXY_ENABLE_FEEDBACK/) } },
  ]);
});

describe('a review', () => {
  it.each([
    [{}, 'missing_required_parameter input'],
    [{ input: ' ' }, 'missing_required_parameter input'],
    [{ target: { type: 'uncommittedChanges' } }, 'unsupported_value target.type'],
    [{ target: { type: 'custom' } }, 'missing_required_parameter input'],
    [{ input: 7 }, 'invalid_type input'],
  ])('rejects %j', async (body, refusal) => {
    const answer = await relayed.post('/v1/codex/reviews', body);
    const { error } = (await answer.json()) as { error: { code: string; param: string } };
    expect([answer.status, `${error.code} ${error.param}`]).toEqual([400, refusal]);
  });

  it('returns unstructured findings as they are, and passes on backend errors', async () => {
    relayed.use(says([{ text: 'Looks good to me.' }]));
    const target = { type: 'custom', instructions: 'Is it good?' };
    const answer = await relayed.post('/v1/codex/reviews', { target, temperature: 1 });
    expect(await answer.json()).toMatchObject({
      review: 'Looks good to me.',
      findings: [],
      overall_correctness: null,
    });
    expect(answer.headers.get('x-proxy-ignored-params')).toBe('temperature');
    relayed.use(http400());
    expect((await relayed.post('/v1/codex/reviews', ASK)).status).toBe(400);
  });
});
