import { Badge } from '../../components/badge.tsx';
import type { Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { compact, duration, percent } from '../../format/numbers.ts';
import { Link } from '../../routing/link.tsx';
import { cachedShare, statusOf, transportOf, whoseError } from './describe-request.ts';
import type { LoggedRequest } from './request-answers.ts';

export const StatusBadge = ({ request }: { readonly request: LoggedRequest }) => {
  const { tone, text } = statusOf(request);
  return <Badge tone={tone}>{text}</Badge>;
};

const Model = ({ model, served_model: served }: LoggedRequest) => (
  <>
    {model}
    {served === null ? null : <span class="hint"> (answered by {served})</span>}
  </>
);

/** Why it failed, and which parameters had no effect. */
const Remarks = ({ request }: { readonly request: LoggedRequest }) => {
  const { error, ignored_params: ignored, retries, replay_of: replayOf } = request;
  return (
    <div class="request-remarks">
      {error === null ? null : (
        <span title={error.message ?? ''}>
          {whoseError(error, request.status)}: <code>{error.code}</code>
        </span>
      )}
      {ignored.length === 0 ? null : <span class="hint">Without effect: {ignored.join(', ')}</span>}
      {retries === 0 ? null : <span class="hint">Retries: {retries}</span>}
      {request.background ? <span class="hint">Background</span> : null}
      {replayOf === null ? null : <span class="hint">Replay</span>}
    </div>
  );
};

const ms = (value: number | null): string => (value === null ? '' : duration(value));

export const COLUMNS: readonly Column<LoggedRequest>[] = [
  {
    title: 'Request',
    cell: ({ id, request_id: requestId }) => (
      <Link to={`/requests/${encodeURIComponent(id)}`} class="request-id">
        {requestId}
      </Link>
    ),
  },
  { title: 'Status', cell: (request) => <StatusBadge request={request} /> },
  { title: 'Started', cell: ({ started_at: at }) => <Time at={at} /> },
  { title: 'Client', cell: ({ client }) => client },
  { title: 'Model', cell: Model },
  { title: 'First delta', cell: ({ first_delta_ms: at }) => ms(at), isNumber: true },
  { title: 'Duration', cell: ({ duration_ms: took }) => ms(took), isNumber: true },
  {
    title: 'Tokens',
    cell: ({ usage }) =>
      usage === null ? '' : `${compact(usage.input_tokens)} in, ${compact(usage.output_tokens)} out`,
    isNumber: true,
  },
  {
    title: 'Cached',
    cell: ({ usage }) => {
      const share = usage === null ? null : cachedShare(usage);
      return share === null ? '' : percent(share);
    },
    isNumber: true,
  },
  { title: 'Remarks', cell: (request) => <Remarks request={request} /> },
  { title: 'Key', cell: ({ key }) => (key === null ? '' : (key.name ?? <code>{key.id}</code>)) },
  { title: 'Transport', cell: transportOf },
];
