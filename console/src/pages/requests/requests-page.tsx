import { useCallback, useEffect, useState } from 'preact/hooks';

import { api } from '../../api/client.ts';
import { usePages } from '../../api/use-pages.ts';
import { useResource } from '../../api/use-resource.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { LoadMore } from '../../components/load-more.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import type { PageProps } from '../../pages.ts';
import { useLocation } from '../../routing/location.ts';
import { CaptureButton } from './capture-dialog.tsx';
import { isShown } from './describe-request.ts';
import { FilterForm, isTyping } from './filter-form.tsx';
import { merged, type LiveList } from './live-list.ts';
import { filtersIn, listPath, pagePath, type Filters, type RequestList } from './request-answers.ts';
import { COLUMNS } from './request-columns.tsx';
import { RequestView } from './request-view.tsx';
import './requests.css';
import { useLive } from './use-live.ts';

/** What runs and what ran: a list, or one request. */
export const RequestsPage = ({ rest: [id] }: PageProps) =>
  id === undefined || id === '' ? <Requests /> : <RequestView key={id} id={id} />;

const Requests = () => {
  const filters = filtersIn(useLocation().query);
  const live = useLive();
  const pause = usePause(live.list);
  const key = JSON.stringify(filters);
  const first = useResource(key, (signal) =>
    api.get<RequestList>(listPath(filters, null, Date.now()), signal),
  );
  const { reload } = first;
  // What ended while the stream was away is in the history.
  useEffect(() => {
    if (live.isLive) reload();
  }, [live.isLive, live.list.dropped, reload]);
  return (
    <>
      <PageHead title="Requests">
        <div class="request-actions">
          <LiveBadge isLive={live.isLive} isPaused={pause.isPaused} />
          <Button onPress={pause.toggle}>{pause.isPaused ? 'Continue' : 'Pause'}</Button>
          <Button onPress={reload}>Reload</Button>
          <CaptureButton keyId={filters.key} />
        </div>
      </PageHead>
      <div class="requests">
        <FilterForm key={key} filters={filters} />
        <Loaded of={first}>{(list) => <Rows first={list} filters={filters} live={pause.list} />}</Loaded>
        <p class="hint">
          Running requests are those of this server; the history has those of all servers on its database.
          Keys: <kbd>p</kbd> pauses, <kbd>/</kbd> searches.
        </p>
      </div>
    </>
  );
};

/** Shows the list as it was when the person paused it, so that rows stay where they are. */
const usePause = (list: LiveList) => {
  const [paused, setPaused] = useState<LiveList | null>(null);
  const toggle = useCallback(() => setPaused((before) => (before === null ? list : null)), [list]);
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key === 'p' && !isTyping(event)) toggle();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [toggle]);
  return { isPaused: paused !== null, list: paused ?? list, toggle };
};

const LiveBadge = ({ isLive, isPaused }: { readonly isLive: boolean; readonly isPaused: boolean }) => {
  if (isPaused) return <Badge tone="warn">Paused</Badge>;
  return isLive ? <Badge tone="good">Live</Badge> : <Badge tone="warn">Connecting…</Badge>;
};

interface RowsProps {
  readonly first: RequestList;
  readonly filters: Filters;
  readonly live: LiveList;
}

const Rows = ({ first, filters, live }: RowsProps) => {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => setNow(Date.now()), [live]);
  const pages = usePages(first, (after) => api.get<RequestList>(listPath(filters, after, now)));
  const running = [...live.requests.values()].filter((request) => isShown(request, filters, now));
  const stored = filters.status === 'running' ? [] : pages.rows;
  const rows = merged(running, stored);
  return (
    <>
      {first.source === 'store' ? null : (
        <p class="note">
          Only the last requests of this server are shown, from its memory: no store can be read.
        </p>
      )}
      {live.dropped === 0 ? null : (
        <p class="hint">{live.dropped} changes were left out, because this page was too slow.</p>
      )}
      {rows.length === 0 ? (
        <Empty>
          {pagePath(filters) === '/requests'
            ? 'No request yet. Connect a client (page Home) or try the Playground: requests appear here by themselves.'
            : 'No request matches. New ones appear here by themselves.'}
        </Empty>
      ) : (
        <Table caption="Requests" columns={COLUMNS} rows={rows} keyOf={({ id }) => id} />
      )}
      {filters.status === 'running' ? null : <LoadMore {...pages} label="Show more" />}
    </>
  );
};
