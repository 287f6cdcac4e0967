import type { Failure } from '../../src/canonical/failure/failure.ts';
import { createModelNames } from '../../src/canonical/models/model-names.ts';
import {
  parseResponse,
  toTurnRequest,
  type ToTurnOptions,
} from '../../src/openai/responses/input/to-turn.ts';
import { knownModel, modelList } from './models.ts';
import { refused } from './refused.ts';

export const models = createModelNames(
  modelList([
    knownModel('gpt-6', { efforts: ['low', 'high'], serviceTiers: ['priority'] }),
    knownModel('gpt-5.5', { efforts: ['low', 'medium'] }),
  ]),
);

/** Reads the body of a Responses request. */
export const read = (body: unknown, options: Partial<ToTurnOptions> = {}) =>
  toTurnRequest(parseResponse(body), { models, ignoreClientPrompt: false, ...options });

export const refusal = (body: unknown): Pick<Failure, 'status' | 'code' | 'param' | 'message'> => {
  const { status, code, param, message } = refused(() => read(body));
  return { status, code, param, message };
};

export const user = (text: string) => ({ role: 'user', content: text });
