import { useState } from 'preact/hooks';

import { api } from '../../api/client.ts';
import { useResource } from '../../api/use-resource.ts';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Facts } from '../../components/facts.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { Loaded } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { duration, percent, whole } from '../../format/numbers.ts';
import { Link } from '../../routing/link.tsx';
import { hasScope, useSession } from '../../session.ts';
import { asCurl, Bodies } from './bodies.tsx';
import { cachedShare, transportOf, whoseError } from './describe-request.ts';
import { ReplayDialog } from './replay-dialog.tsx';
import { requestPath, type RequestDetails } from './request-answers.ts';
import { StatusBadge } from './request-columns.tsx';
import { Waterfall } from './waterfall.tsx';

/** A request that runs is loaded again. */
const EVERY_MS = 1000;

/** One request: its facts, where its time went and, where captured, its bodies. */
export const RequestView = ({ id }: { readonly id: string }) => {
  const [isRunning, setIsRunning] = useState(true);
  const found = useResource(
    id,
    async (signal) => {
      const request = await api.get<RequestDetails>(requestPath(id), signal);
      setIsRunning(request.state === 'running');
      return request;
    },
    isRunning ? { everyMs: EVERY_MS } : {},
  );
  return (
    <>
      <PageHead title="Request">
        <div class="request-actions">
          <Link to="/requests">All requests</Link>
          {found.data === null ? null : <Actions request={found.data} />}
        </div>
      </PageHead>
      <Loaded of={found}>{(request) => <Details request={request} />}</Loaded>
    </>
  );
};

const Actions = ({ request }: { readonly request: RequestDetails }) => {
  const session = useSession();
  const [isReplaying, setIsReplaying] = useState(false);
  const curl = asCurl(request.capture, window.location.origin);
  const canReplay = hasScope(session, 'admin') && hasScope(session, 'infer');
  return (
    <>
      {curl === null ? null : (
        <span class="request-curl">
          curl
          <CopyButton text={curl} label="Copy as curl" />
        </span>
      )}
      {request.capture.status === 'captured' && canReplay ? (
        <Button onPress={() => setIsReplaying(true)}>Replay…</Button>
      ) : null}
      {isReplaying ? <ReplayDialog id={request.id} onClose={() => setIsReplaying(false)} /> : null}
    </>
  );
};

const Details = ({ request }: { readonly request: RequestDetails }) => (
  <div class="request">
    <Card title={request.request_id} aside={<StatusBadge request={request} />}>
      {request.error === null ? null : <WhyItFailed request={request} />}
      <Facts rows={factsOf(request)} />
    </Card>
    <Card title="Where the time went">
      <Waterfall
        spans={request.spans}
        durationMs={request.duration_ms ?? 0}
        dropped={request.spans_dropped}
      />
    </Card>
    <Bodies capture={request.capture} keyId={request.key?.id ?? ''} />
  </div>
);

const WhyItFailed = ({ request: { error, status } }: { readonly request: RequestDetails }) =>
  error === null ? null : (
    <div class="note note-bad">
      <p>
        <strong>{whoseError(error, status)}</strong>: <code>{error.code}</code>
        {error.param === null ? null : (
          <>
            {' '}
            in <code>{error.param}</code>
          </>
        )}
      </p>
      {error.message === null ? null : <p>{error.message}</p>}
    </div>
  );

const workspaceText = ({ workspace, calls, waits }: NonNullable<RequestDetails['run']>): string =>
  [
    workspace,
    ...(calls === null ? [] : [calls === 1 ? '1 call' : `${whole(calls)} calls`]),
    ...(waits ? ['waits for approval'] : []),
  ].join(', ');

type Rows = Parameters<typeof Facts>[0]['rows'];

const factsOf = (request: RequestDetails): Rows => {
  const { usage, size, key, run } = request;
  const rows: Rows = [
    ['Started', <Time key="started" at={request.started_at} />],
    ['Duration', request.duration_ms === null ? 'It runs' : duration(request.duration_ms)],
    ['First delta', request.first_delta_ms === null ? null : duration(request.first_delta_ms)],
    ['Outcome', request.outcome],
    ['Route', <code key="route">{`${request.method} ${request.route}`}</code>],
    ['Transport', transportOf(request)],
    ['Client', request.client],
    ['Model', request.model],
    ['Answered by', request.served_model],
    ['Key', key === null ? 'No valid key' : `${key.name ?? ''} ${key.id}`.trim()],
    [
      'Tokens',
      usage === null
        ? null
        : `${whole(usage.input_tokens)} in (${percent(cachedShare(usage) ?? 0)} cached), ${whole(usage.output_tokens)} out (${whole(usage.reasoning_tokens)} reasoning)`,
    ],
    [
      'Size',
      size === null
        ? null
        : `${whole(size.bytes)} bytes, ${whole(size.items)} items, ${whole(size.tools)} tools, ${whole(size.images)} images`,
    ],
    ['Workspace', run === null ? null : workspaceText(run)],
    ['Without effect', request.ignored_params.length === 0 ? null : request.ignored_params.join(', ')],
    ['Retries', request.retries === 0 ? null : String(request.retries)],
    ['Response', request.response_id === null ? null : <code key="response">{request.response_id}</code>],
    [
      'Replay of',
      request.replay_of === null ? null : (
        <Link key="replay" to={`/requests/${encodeURIComponent(request.replay_of)}`}>
          {request.replay_of}
        </Link>
      ),
    ],
    ['Trace', request.trace_id === null ? null : <code key="trace">{request.trace_id}</code>],
    ['Server', request.instance],
    ['Id', <code key="id">{request.id}</code>],
  ];
  return rows.filter(([, value]) => value !== null);
};
