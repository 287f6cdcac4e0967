import type { ModelNames } from '../../../canonical/models/model-names.ts';
import { allTools } from '../../../canonical/request/tool.ts';
import { PLAIN_REQUEST } from '../../../canonical/request/turn-request.ts';
import type { ReadBody } from '../../../apis/common-fields.ts';
import { unreadFields } from '../../../apis/unread-fields.ts';
import { missing, parseBody } from '../../../apis/validation.ts';
import { isJsonObject } from '../../../kit/json/json.ts';
import { findModel } from '../../model-names.ts';
import { readMessages } from './messages.ts';
import { messagesNames } from './parameter-names.ts';
import { createMessageSchema, type CreateMessage } from './schema.ts';
import { readToolChoice } from './tool-choice.ts';
import { readTools } from './tools.ts';

export interface ParsedMessages extends ReadBody<Pick<CreateMessage, 'model' | 'stream'>> {
  /** The conversation that the body names; null: none. */
  readonly session: string | null;
}

export interface ToTurnOptions {
  readonly models: ModelNames;
  /** Only counted: no answer follows, so `max_tokens` is not needed. */
  readonly isCount: boolean;
}

/** Reads the body of a Messages request. */
export const toTurnRequest = (body: unknown, { models, isCount }: ToTurnOptions): ParsedMessages => {
  const parsed = parseBody(createMessageSchema, body);
  if (!isCount && typeof parsed.max_tokens !== 'number') throw missing('max_tokens');
  const ignored = unreadFields(createMessageSchema, body, '');
  const { items, places } = readMessages(parsed.system, parsed.messages);
  const { tools, placeOf, maxToolCalls } = readTools(parsed.tools ?? [], ignored);
  const { meaning: model } = findModel(models, parsed.model);
  return {
    parsed,
    ignored,
    names: messagesNames(places, placeOf),
    session: sessionIn(parsed.metadata?.user_id),
    request: {
      ...PLAIN_REQUEST,
      model: model.model,
      items,
      tools,
      ...readToolChoice(parsed.tool_choice, allTools({ tools, items }), ignored),
      maxToolCalls,
      reasoning: { effort: model.effort, summary: 'auto', context: null },
      serviceTier: model.serviceTier,
      maxOutputTokens: parsed.max_tokens ?? null,
      stop: parsed.stop_sequences ?? [],
      sampling: {
        ...PLAIN_REQUEST.sampling,
        temperature: parsed.temperature ?? null,
        topP: parsed.top_p ?? null,
      },
    },
  };
};

/** Claude Code sends JSON in this field. */
const sessionIn = (userId: string | null | undefined): string | null => {
  if (userId?.startsWith('{') !== true) return null;
  try {
    const value: unknown = JSON.parse(userId);
    const id = isJsonObject(value) ? value['session_id'] : null;
    return typeof id === 'string' && id !== '' ? id : null;
  } catch {
    return null;
  }
};
