import { useState } from 'preact/hooks';

import { api } from '../../api/client.ts';
import { useResource } from '../../api/use-resource.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Field } from '../../components/field.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import type { PageProps } from '../../pages.ts';
import { Link } from '../../routing/link.tsx';
import { navigate, useLocation } from '../../routing/location.ts';
import { listPath, type Conversation } from './conversation-answers.ts';
import { ConversationView } from './conversation-view.tsx';
import './conversations.css';
import { LoadMore } from '../../components/load-more.tsx';
import { usePages, type List } from '../../api/use-pages.ts';

/** The stored conversations of all keys: a list, or one of them. */
export const ConversationsPage = ({ rest: [id] }: PageProps) =>
  id === undefined || id === '' ? <Conversations /> : <ConversationView key={id} id={id} />;

const Conversations = () => {
  const keyId = useLocation().query.get('key_id') ?? '';
  const first = useResource(`of ${keyId}`, (signal) =>
    api.get<List<Conversation>>(listPath(keyId, null), signal),
  );
  return (
    <>
      <PageHead title="Conversations">
        <Button onPress={first.reload}>Reload</Button>
      </PageHead>
      <div class="conversations">
        <KeyFilter key={keyId} keyId={keyId} />
        <Loaded of={first}>{(list) => <Rows first={list} keyId={keyId} />}</Loaded>
      </div>
    </>
  );
};

const KeyFilter = ({ keyId }: { readonly keyId: string }) => {
  const [typed, setTyped] = useState(keyId);
  const open = (key: string): void =>
    navigate(key === '' ? '/conversations' : `/conversations?key_id=${encodeURIComponent(key)}`, 'replace');
  return (
    <form
      class="key-filter"
      onSubmit={(event) => {
        event.preventDefault();
        open(typed.trim());
      }}
    >
      <Field label="Key" hint="The id of an API key, which begins with key_. Empty: all keys.">
        {(control) => (
          <input
            {...control}
            value={typed}
            spellcheck={false}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        )}
      </Field>
      <Button type="submit">Filter</Button>
    </form>
  );
};

const Rows = ({ first, keyId }: { readonly first: List<Conversation>; readonly keyId: string }) => {
  const pages = usePages(first, (after) => api.get<List<Conversation>>(listPath(keyId, after)));
  if (pages.rows.length === 0) {
    return (
      <Empty>
        Nothing is stored{keyId === '' ? '' : ' by this key'}. Responses are stored unless their request says
        “store: false”.
      </Empty>
    );
  }
  return (
    <>
      <Table caption="Conversations" columns={COLUMNS} rows={pages.rows} keyOf={({ id }) => id} />
      <LoadMore {...pages} label="Show more" />
    </>
  );
};

const COLUMNS: readonly Column<Conversation>[] = [
  {
    title: 'Conversation',
    cell: ({ id }) => (
      <Link to={`/conversations/${encodeURIComponent(id)}`} class="conversation-id">
        {id}
      </Link>
    ),
  },
  {
    title: 'Kind',
    cell: ({ kind, forked_from: from }) => (
      <>
        <Badge tone={kind === 'conversation' ? 'info' : 'neutral'}>
          {kind === 'conversation' ? 'Conversation' : 'Chain'}
        </Badge>
        {from === null ? null : <span class="hint"> fork</span>}
      </>
    ),
  },
  { title: 'Key', cell: ({ key_id: keyId }) => <code>{keyId}</code> },
  { title: 'Turns', cell: ({ turns }) => turns, isNumber: true },
  { title: 'Last turn', cell: ({ updated_at: at }) => <Time at={at} /> },
  { title: 'Created', cell: ({ created_at: at }) => <Time at={at} /> },
  { title: 'Expires', cell: ({ expires_at: at }) => <Time at={at} /> },
];
