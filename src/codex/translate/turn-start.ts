import { answerText } from '../../canonical/request/item.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { ParamsOf } from '../protocol/methods.ts';

/** The turn runs on the injected history, so it has no input of its own. */
export const toTurnStart = (request: TurnRequest, threadId: string): ParamsOf<'turn/start'> => ({
  threadId,
  input: [],
  ...(request.reasoning.effort === null ? {} : { effort: request.reasoning.effort }),
  // If omitted, codex requests summaries for models that it does not list.
  summary: request.reasoning.summary ?? 'none',
  ...(request.format.kind === 'json-schema' ? { outputSchema: request.format.schema } : {}),
});

/** The relay writes the settings of the client's request. */
export const toCarrierTurnStart = (threadId: string): ParamsOf<'turn/start'> => ({
  threadId,
  input: [],
  summary: 'none',
});

/** A review starts without history, with its own guidelines: it sees only this text. */
export const toReviewStart = ({ items }: TurnRequest, threadId: string): ParamsOf<'review/start'> => ({
  threadId,
  target: { type: 'custom', instructions: items.map(answerText).join('\n\n') },
});
