import { useState } from 'preact/hooks';

import { api } from '../../api/client.ts';
import { useResource } from '../../api/use-resource.ts';
import { Card } from '../../components/card.tsx';
import { Facts } from '../../components/facts.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { Loaded } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { Link } from '../../routing/link.tsx';
import { hasScope, useSession } from '../../session.ts';
import { KeyActions } from './key-actions.tsx';
import { StatusBadge } from './key-status.tsx';
import type { Key } from './key-types.ts';
import { LimitBars } from './limit-bars.tsx';

/** One key, and what can be done with it. */
export const KeyDetail = ({ id }: { readonly id: string }) => {
  const [round, setRound] = useState(0);
  const isAdmin = hasScope(useSession(), 'admin');
  const key = useResource(`key ${id}`, (signal) =>
    api.get<Key>(`/v1/codex/keys/${encodeURIComponent(id)}`, signal),
  );
  const changed = (): void => {
    key.reload();
    setRound(round + 1);
  };
  return (
    <>
      <PageHead title={key.data?.name ?? 'Key'}>
        <Link to="/keys">All keys</Link>
      </PageHead>
      <Loaded of={key}>
        {(found) => (
          <div class="stack">
            <Card title="Key" aside={<StatusBadge status={found.status} />}>
              <Facts rows={factsOf(found)} />
              {isAdmin ? <KeyActions of={found} onChanged={changed} /> : null}
            </Card>
            <Card title="Limits">
              <LimitBars of={found} round={round} />
            </Card>
          </div>
        )}
      </Loaded>
    </>
  );
};

const time = (at: number | null, never: string) => (at === null ? never : <Time at={at} />);
const code = (text: string) => <code>{text}</code>;
const list = (values: readonly string[], none: string): string =>
  values.length === 0 ? none : values.join(', ');

const storageText = (mb: number | null): string => {
  if (mb === null) return 'as the server allows';
  return mb === 0 ? 'any' : `up to ${mb} MB`;
};

const factsOf = (key: Key) =>
  [
    ['Note', key.note === '' ? '–' : key.note],
    ['Secret', code(key.hint)],
    ['Id', code(key.id)],
    ['Scopes', key.scopes.join(', ')],
    ['Models', list(key.models, 'all')],
    ['Workspaces', list(key.workspaces, 'none')],
    ['Highest effort', key.effort ?? 'any'],
    ['Addresses', list(key.addresses, 'any')],
    ['Turns at the same time', key.concurrency ?? 'as the server allows'],
    ['Storage', storageText(key.storage_mb)],
    ['Created', time(key.created_at, '')],
    ['Expires', time(key.expires_at, 'never')],
    ['Last used', time(key.last_used_at, 'never')],
  ] as const;
