import { api } from '../../api/client.ts';
import { useResource } from '../../api/use-resource.ts';
import { Badge } from '../../components/badge.tsx';
import { Card } from '../../components/card.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { Link } from '../../routing/link.tsx';

/** The part of `GET /v1/codex/requests` that is shown here. */
interface FailedRequests {
  readonly data: readonly {
    readonly id: string;
    readonly route: string;
    readonly model: string | null;
    readonly status: number | null;
    readonly started_at: number;
    readonly error: { readonly code: string | null; readonly message: string | null } | null;
  }[];
}

const EVERY_MS = 15_000;

/** The newest requests that failed. */
export const ErrorsCard = () => {
  const failed = useResource(
    'failed',
    (signal) => api.get<FailedRequests>('/v1/codex/requests?status=failed&limit=5', signal),
    { everyMs: EVERY_MS },
  );
  return (
    <Card
      title="Last errors"
      aside={<Link to="/requests?status=failed">All requests that failed</Link>}
      isWide
    >
      <Loaded of={failed}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty>No request has failed.</Empty>
          ) : (
            <ul class="errors">
              {data.map(({ id, route, model, status, started_at: startedAt, error }) => (
                <li key={id}>
                  <p class="error-head">
                    <Badge tone="bad">{status ?? 'failed'}</Badge>
                    <Link to={`/requests/${encodeURIComponent(id)}`}>{error?.code ?? 'no error code'}</Link>
                    <span class="hint">
                      {[route, model].filter((one) => one !== null).join(' · ')} · <Time at={startedAt} />
                    </span>
                  </p>
                  {error?.message === undefined ? null : <p>{error.message}</p>}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
};
