import type { OpenSpan, SpanFacts } from '../../../canonical/context/trace.ts';
import { tokenFacts } from '../../../canonical/events/usage.ts';
import { readUsage } from '../../sources/response-usage.ts';
import type { AnswerEnded, UpstreamEvent } from '../../sources/upstream-event.ts';

/** Notes in the span of a model request what its answer reports, and ends it with the answer. */
export const noteAnswer = (span: OpenSpan, signal: Exclude<UpstreamEvent, { kind: 'answer-said' }>): void => {
  if (signal.kind === 'refused') span.note({ error: signal.failure.code });
  else if (signal.kind === 'answer-ended') span.end(endOf(signal));
};

const endOf = (ended: AnswerEnded): SpanFacts => {
  if (!('response' in ended)) return { end: ended.how };
  const { how, response } = ended;
  const usage = readUsage(response);
  const model = response?.['model'];
  return {
    end: how,
    ...(typeof model === 'string' ? { servedModel: model.slice(0, MAX_NAME) } : {}),
    ...(usage === null ? {} : tokenFacts(usage)),
  };
};

const MAX_NAME = 200;
