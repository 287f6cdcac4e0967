import { describe, expect, it } from 'vitest';

import { failure } from '../../canonical/failure/failure.ts';
import { errorBody } from '../../openai/shared/error-body.ts';
import { renderChat } from '../../openai/chat/render.ts';
import { renderCompletion } from '../../openai/completions/answer.ts';
import { renderResponse } from '../../openai/responses/output/render.ts';
import { collect, fixedAmbient } from '../../../test/support/turn-events.ts';
import { responseMeta } from '../../../test/support/response-meta.ts';
import { endOfBrokenStream } from './broken-stream.ts';
import type { Api } from '../../turns/api.ts';

const { clock } = fixedAmbient();
const endOf = (render: (turns: Parameters<Api['render']>[1]) => ReturnType<Api['render']>, turns = 1) =>
  collect(endOfBrokenStream({ render: (_, all) => render(all) }, { meta: null, turns }, clock));
const BODY = errorBody(failure('server_error'));
const common = { id: 'x', createdAt: 1, model: 'm', includeUsage: true, usagePolicy: 'exact' } as const;

describe('a stream that breaks by a bug', () => {
  it('ends with an error and response.failed in the Responses API', async () => {
    const frames = await endOf(([events]) => renderResponse(events, responseMeta()));
    expect(frames.map(({ event }) => event)).toEqual(['error', 'response.failed', 'done']);
    expect(frames[0]?.data).toMatchObject({ type: 'error', code: 'server_error', ...BODY });
    expect(frames[1]?.data).toMatchObject({
      type: 'response.failed',
      response: { id: 'resp_1', status: 'failed', error: { code: 'server_error' } },
    });
  });

  it('ends with one error chunk in Chat and Completions for any number of choices', async () => {
    const end = [
      { event: null, data: BODY },
      { event: null, data: '[DONE]' },
    ];
    const chat = { ...common, serviceTier: null, isLegacy: false, isAlsoLegacy: false };
    expect(await endOf((turns) => renderChat(turns, chat), 3)).toEqual(end);
    const completion = { ...common, echoes: ['prompt'] };
    expect(await endOf((turns) => renderCompletion(turns, completion))).toEqual(end);
  });
});
