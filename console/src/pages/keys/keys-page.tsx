import { useState } from 'preact/hooks';

import { api } from '../../api/client.ts';
import { useResource } from '../../api/use-resource.ts';
import { Button } from '../../components/button.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import type { PageProps } from '../../pages.ts';
import { Link } from '../../routing/link.tsx';
import { hasScope, useSession } from '../../session.ts';
import { KeyDetail } from './key-detail.tsx';
import { EMPTY_KEY, fieldsOf } from './key-draft.ts';
import { KeyForm } from './key-form.tsx';
import { StatusBadge } from './key-status.tsx';
import type { Key, KeyList, KeyWithSecret } from './key-types.ts';
import { LimitBars } from './limit-bars.tsx';
import { SecretDialog } from './secret-dialog.tsx';
import './keys.css';

/** Named API keys: the list, or the key of the address. */
export const KeysPage = ({ rest: [id] }: PageProps) =>
  id === undefined ? <AllKeys /> : <KeyDetail key={id} id={id} />;

const PAGE = 20;

/** The first pages of the list, one after the other. */
const loadKeys = async (pages: number, signal: AbortSignal): Promise<KeyList> => {
  const data: Key[] = [];
  let hasMore = true;
  for (let page = 0; page < pages && hasMore; page += 1) {
    const after = data.at(-1)?.id;
    const query = after === undefined ? '' : `&after=${encodeURIComponent(after)}`;
    const list = await api.get<KeyList>(`/v1/codex/keys?limit=${PAGE}${query}`, signal);
    data.push(...list.data);
    hasMore = list.has_more;
  }
  return { data, has_more: hasMore };
};

const COLUMNS: readonly Column<Key>[] = [
  {
    title: 'Name',
    cell: ({ id, name, note, hint }) => (
      <>
        <Link to={`/keys/${encodeURIComponent(id)}`}>{name}</Link>
        {note === '' ? null : <p class="hint">{note}</p>}
        <p class="hint">
          <code>{hint}</code>
        </p>
      </>
    ),
  },
  { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  { title: 'Scopes', cell: ({ scopes }) => scopes.join(', ') },
  { title: 'Limits', cell: (key) => <LimitBars of={key} /> },
  {
    title: 'Last used',
    cell: ({ last_used_at: at }) => (at === null ? <span class="hint">never</span> : <Time at={at} />),
  },
  {
    title: 'Expires',
    cell: ({ expires_at: at }) => (at === null ? <span class="hint">never</span> : <Time at={at} />),
  },
];

const AllKeys = () => {
  const isAdmin = hasScope(useSession(), 'admin');
  const [pages, setPages] = useState(1);
  const [isCreating, setIsCreating] = useState(false);
  const [made, setMade] = useState<KeyWithSecret | null>(null);
  const keys = useResource(`keys ${pages}`, (signal) => loadKeys(pages, signal));
  return (
    <>
      <PageHead title="Keys">
        {isAdmin ? (
          <Button kind="primary" onPress={() => setIsCreating(true)}>
            Create a key
          </Button>
        ) : (
          <span class="hint">Read only: changes need a key with the scope "admin".</span>
        )}
      </PageHead>
      <Loaded of={keys}>
        {({ data, has_more: hasMore }) => (
          <div class="stack">
            {data.length === 0 ? (
              <Empty>
                There are no named keys yet. The key of the settings, or the one of the first start, is not
                listed.
              </Empty>
            ) : (
              <Table caption="API keys" columns={COLUMNS} rows={data} keyOf={({ id }) => id} />
            )}
            {hasMore ? <Button onPress={() => setPages(pages + 1)}>Show more</Button> : null}
          </div>
        )}
      </Loaded>
      {isCreating ? (
        <KeyForm
          title="Create a key"
          action="Create"
          first={EMPTY_KEY}
          onSave={async (draft) => {
            const created = await api.post<KeyWithSecret>('/v1/codex/keys', fieldsOf(draft));
            setIsCreating(false);
            setMade(created);
            keys.reload();
          }}
          onClose={() => setIsCreating(false)}
        />
      ) : null}
      {made === null ? null : <SecretDialog made={made} onClose={() => setMade(null)} />}
    </>
  );
};
