import { useCallback, useEffect, useState } from 'preact/hooks';

import { api } from '../../api/client.ts';
import { useResource } from '../../api/use-resource.ts';
import { Badge } from '../../components/badge.tsx';
import { Card, CardGrid } from '../../components/card.tsx';
import { Facts } from '../../components/facts.tsx';
import { LimitsCard } from '../../components/limits-card.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { Loaded } from '../../components/states.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { whole } from '../../format/numbers.ts';
import type { Account, Model, SignIns } from './account-answers.ts';
import './account.css';
import { SignInCard } from './sign-in-card.tsx';

/** A sign-in is in the memory of the server; the account may have to be asked. */
const SIGN_IN_MS = 2000;
const ACCOUNT_MS = 6000;

/** The account that the server uses, its limits and models, and signing in and out. */
export const AccountPage = () => {
  const account = useResource('account', (signal) => api.get<Account>('/v1/codex/account', signal), {
    everyMs: ACCOUNT_MS,
  });
  const signIns = useResource('sign-ins', (signal) => api.get<SignIns>('/v1/codex/login', signal), {
    everyMs: SIGN_IN_MS,
  });
  const models = useResource('models', (signal) =>
    api.get<{ readonly data: readonly Model[] }>('/v1/codex/models', signal),
  );

  const reloadAccount = account.reload;
  const reloadSignIns = signIns.reload;
  const reloadModels = models.reload;
  const reloadAll = useCallback(() => {
    for (const reload of [reloadAccount, reloadSignIns, reloadModels]) reload();
  }, [reloadAccount, reloadSignIns, reloadModels]);
  // Another login has other limits and models.
  const login = account.data === null ? null : `${account.data.backend} ${account.data.plan ?? ''}`;
  useOnChange(login, reloadAll);
  useOnChange(signIns.data?.data[0]?.status ?? null, reloadAccount);

  return (
    <>
      <PageHead title="Account" />
      <CardGrid>
        <Card title="Backend">
          <Loaded of={account}>{(data) => <AccountFacts account={data} />}</Loaded>
        </Card>
        <SignInCard
          signIns={signIns}
          isSignedIn={account.data?.sign_in.state === 'signed_in'}
          onChange={reloadAll}
        />
        <LimitsCard key={login} />
        <Card title="Models" isWide>
          <Loaded of={models}>
            {({ data }) => (
              <Table caption="Models" columns={MODEL_COLUMNS} rows={data} keyOf={({ id }) => id} />
            )}
          </Loaded>
        </Card>
      </CardGrid>
    </>
  );
};

/** Calls `act` when the value has changed; null: it is not known yet. */
const useOnChange = (value: string | null, act: () => void): void => {
  const [before, setBefore] = useState(value);
  useEffect(() => {
    if (value === null || value === before) return;
    setBefore(value);
    if (before !== null) act();
  }, [value, before, act]);
};

const BACKENDS: Readonly<Record<Account['backend'], string>> = {
  chatgpt: 'ChatGPT',
  openai: 'OpenAI API key',
  provider: 'Provider of PROXY_UPSTREAM_BASE_URL',
  demo: 'Demo model: it does not think',
  none: 'None: requests fail until you sign in',
};

const STATES = {
  signed_in: <Badge tone="good">Signed in</Badge>,
  needed: <Badge tone="bad">Signed out</Badge>,
  not_needed: <Badge>No login in use</Badge>,
} as const;

const AccountFacts = ({ account: { backend, plan, sign_in } }: { readonly account: Account }) => (
  <Facts
    rows={[
      ['Status', STATES[sign_in.state]],
      ['Answers come from', BACKENDS[backend]],
      ['Plan', plan ?? '–'],
      ...(sign_in.confirmed
        ? []
        : [['Note', 'The service of the account could not be asked. This is what the login says.'] as const]),
    ]}
  />
);

const MODEL_COLUMNS: readonly Column<Model>[] = [
  { title: 'Model', cell: ({ id }) => <code>{id}</code> },
  { title: 'Name', cell: ({ display_name: name }) => name ?? '–' },
  {
    title: 'Offered',
    cell: ({ hidden, is_default: isDefault }) =>
      isDefault ? <Badge tone="info">Default</Badge> : hidden ? <Badge>Hidden</Badge> : 'Yes',
  },
  { title: 'Efforts', cell: ({ reasoning_efforts: efforts }) => efforts?.join(', ') ?? '–' },
  {
    title: 'Context',
    cell: ({ context_window: tokens }) => (tokens === null ? '–' : whole(tokens)),
    isNumber: true,
  },
];
