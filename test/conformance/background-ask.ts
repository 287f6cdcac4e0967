import { APIError } from 'openai';
import type OpenAI from 'openai';

import type { Script } from '../../src/demo/model-server.ts';
import { says } from '../support/scripts.ts';
import { until } from '../support/until.ts';

type Create = OpenAI.Responses.ResponseCreateParamsNonStreaming;
type Response = OpenAI.Responses.Response;

/** Begins a text, and never ends it. */
export const hangs: Script = says([{ text: 'One, two', end: 'open' }, { hang: true }]);

export const inBackground = (openai: OpenAI, more: Partial<Create> = {}): Promise<Response> =>
  openai.responses.create({ model: 'gpt-5.5', input: 'Say hello.', background: true, ...more });

export const whenEnded = async (openai: OpenAI, id: string): Promise<Response> => {
  let response = await openai.responses.retrieve(id);
  await until(async () => {
    response = await openai.responses.retrieve(id);
    return response.status !== 'queued' && response.status !== 'in_progress';
  });
  return response;
};

/** The error body, or the value if there is no error. */
export const refusal = async (asked: Promise<unknown>): Promise<unknown> => {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof APIError)) throw error;
    const { message, type, param, code } = error.error as Record<string, unknown>;
    return { status: error.status, message, type, param, code };
  }
};
