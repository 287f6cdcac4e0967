import { useState } from 'preact/hooks';

import { api } from '../../api/client.ts';
import { useResource } from '../../api/use-resource.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import { Card } from '../../components/card.tsx';
import { CodeBlock } from '../../components/copy-button.tsx';
import { Facts } from '../../components/facts.tsx';
import { Field } from '../../components/field.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { settingRows, type ConfigAnswer, type SettingRow } from './setting-rows.ts';
import './settings.css';

const TONES: Readonly<Record<string, Tone>> = { environment: 'info', 'config file': 'good' };

const COLUMNS: readonly Column<SettingRow>[] = [
  { title: 'Setting', cell: ({ name }) => <code>{name}</code> },
  {
    title: 'Value',
    cell: ({ value }) => (value === '' ? <span class="hint">not set</span> : <code>{value}</code>),
  },
  { title: 'From', cell: ({ source }) => <Badge tone={TONES[source] ?? 'neutral'}>{source}</Badge> },
];

/** The settings of the server and of the app-server, read only. */
export const SettingsPage = () => {
  const config = useResource('config', (signal) => api.get<ConfigAnswer>('/v1/codex/config', signal));
  return (
    <>
      <PageHead title="Settings" />
      <Loaded of={config}>
        {(answer) => (
          <div class="stack">
            <Settings answer={answer} />
            <Card title="App-server">
              <Facts rows={[['Version of codex', answer.codex_version]]} />
              <CodeBlock
                text={JSON.stringify(answer.app_server, null, 2)}
                label="Copy the settings of the app-server"
              />
            </Card>
          </div>
        )}
      </Loaded>
    </>
  );
};

const Settings = ({ answer }: { readonly answer: ConfigAnswer }) => {
  const [query, setQuery] = useState('');
  const [isChanged, setIsChanged] = useState(false);
  const rows = settingRows(answer, { query, isChanged });
  return (
    <Card title="Server">
      <p class="hint">
        Read only: settings come from environment variables and the config file when the server starts.
        Secrets, paths and addresses are not shown.{' '}
        <a href="/docs/configuration.md">What each setting does</a>
      </p>
      <div class="setting-filters">
        <Field label="Find">
          {(control) => (
            <input
              {...control}
              type="search"
              value={query}
              onInput={(event) => setQuery(event.currentTarget.value)}
            />
          )}
        </Field>
        <label class="check">
          <input
            type="checkbox"
            checked={isChanged}
            onChange={(event) => setIsChanged(event.currentTarget.checked)}
          />
          Only what differs from the default
        </label>
      </div>
      {rows.length === 0 ? (
        <Empty>No setting matches.</Empty>
      ) : (
        <Table caption="Settings of the server" columns={COLUMNS} rows={rows} keyOf={({ name }) => name} />
      )}
    </Card>
  );
};
