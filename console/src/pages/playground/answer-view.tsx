import { Badge } from '../../components/badge.tsx';
import { ErrorNote, Loading } from '../../components/states.tsx';
import { duration, whole } from '../../format/numbers.ts';
import { hrefOf } from '../../routing/location.ts';
import { ItemView } from './item-view.tsx';
import type { Answer } from './use-conversation.ts';

/** An answer, while it arrives and afterwards. */
export const AnswerView = ({ answer }: { readonly answer: Answer }) => {
  const { items, isRunning, isStopped, error, end, reason } = answer;
  return (
    <>
      {items.map(({ id, item, text, isDone }) => (
        <ItemView key={id} item={item} text={isDone ? null : text} />
      ))}
      {isRunning && items.length === 0 ? <Loading what="Waiting for the model" /> : null}
      {isStopped ? (
        <p class="note">Stopped. The next request does not contain this part of the answer.</p>
      ) : null}
      {end === 'incomplete' ? <p class="note">The answer is incomplete: {reason}</p> : null}
      {end === 'failed' ? <ErrorNote error={new Error(reason ?? '')} /> : null}
      {error === null || end === 'failed' ? null : <ErrorNote error={error} />}
      {isRunning ? null : <AnswerFacts answer={answer} />}
    </>
  );
};

const AnswerFacts = ({ answer }: { readonly answer: Answer }) => {
  const { usage, firstMs, totalMs, requestId, ignored } = answer;
  const facts = [
    usage === null ? null : `${whole(usage.input_tokens)} tokens in`,
    usage === null ? null : `${whole(usage.input_tokens_details?.cached_tokens ?? 0)} cached`,
    usage === null ? null : `${whole(usage.output_tokens)} out`,
    usage === null ? null : `${whole(usage.output_tokens_details?.reasoning_tokens ?? 0)} for reasoning`,
    firstMs === null ? null : `first event after ${duration(firstMs)}`,
    totalMs === null ? null : `${duration(totalMs)} in total`,
  ].filter((fact) => fact !== null);
  return (
    <p class="hint chat-facts">
      {facts.join(' · ')} {requestId === null ? null : <RequestLink id={requestId} />}{' '}
      {ignored === null ? null : <Badge tone="warn">No effect: {ignored}</Badge>}
    </p>
  );
};

/** In another tab, because the conversation ends with this page. */
const RequestLink = ({ id }: { readonly id: string }) => (
  <a href={hrefOf(`/requests/${encodeURIComponent(id)}`)} target="_blank" rel="noreferrer">
    {id}
    <span class="visually-hidden"> (opens in another tab)</span>
  </a>
);
