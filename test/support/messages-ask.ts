import { createModelNames } from '../../src/canonical/models/model-names.ts';
import {
  messagesToTurn,
  type ParsedMessages,
  type MessagesTurnOptions,
} from '../../src/anthropic/messages/input/to-turn.ts';
import { knownModel, modelList } from './models.ts';

export const models = createModelNames(modelList([knownModel('gpt-6')]));

/** Reads a body of the Messages API as the server does by default. */
export const read = (body: object, options: Partial<MessagesTurnOptions> = {}): ParsedMessages =>
  messagesToTurn(
    { model: 'gpt-6', max_tokens: 100, ...body },
    { models, ignoreClientPrompt: false, isCount: false, ...options },
  );

export const USER = { role: 'user', content: 'Hi.' } as const;
/** A call and its place in a conversation that answers it. */
export const CALL = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} } as const;
