import { ApiError } from '../../api/api-error.ts';
import { api } from '../../api/client.ts';
import type { List } from '../../api/use-pages.ts';
import { useResource } from '../../api/use-resource.ts';
import { Card } from '../../components/card.tsx';
import { CodeBlock } from '../../components/copy-button.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { Loaded } from '../../components/states.tsx';
import type { PageProps } from '../../pages.ts';
import { ENVIRONMENTS_PATH, type Environment, type McpRow } from './agent-answers.ts';
import { SessionView } from './session-view.tsx';
import { SessionsList } from './sessions-list.tsx';
import { StartForm, type AgentModel } from './start-form.tsx';
import { shownWorkspaces, WorkspacesCard } from './workspaces-card.tsx';
import './agents.css';
import './session.css';
import './transcript.css';

/** Agents: codex with its own tools in the workspaces of this server. */
export const AgentsPage = ({ rest: [id] }: PageProps) =>
  id === undefined || id === '' ? <Agents /> : <SessionView key={id} id={id} />;

/** Null: the Agents API is off, and why. */
const environments = async (
  signal: AbortSignal,
): Promise<{ readonly data: readonly Environment[]; readonly off: string | null }> => {
  try {
    const { data } = await api.get<List<Environment>>(ENVIRONMENTS_PATH, signal);
    return { data, off: null };
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return { data: [], off: error.message };
    throw error;
  }
};

const Agents = () => {
  const found = useResource('environments', environments);
  return (
    <>
      <PageHead title="Agents" />
      <Loaded of={found}>
        {({ data, off }) => (off === null ? <Overview found={data} /> : <Off reason={off} />)}
      </Loaded>
    </>
  );
};

const EVERY_MS = 10_000;

const Overview = ({ found }: { readonly found: readonly Environment[] }) => {
  const models = useResource('models', (signal) =>
    api.get<{ readonly data: readonly AgentModel[] }>('/v1/codex/models', signal),
  );
  // Their facts are nice to have: without them, the names are enough.
  const rows = useResource('mcp', (signal) => api.get<List<McpRow>>('/v1/codex/mcp', signal), {
    everyMs: EVERY_MS,
  });
  if (rows.data === null && rows.error === null) return <Loaded of={rows}>{() => null}</Loaded>;
  const workspaces = shownWorkspaces(found, rows.data?.data ?? []);
  return (
    <div class="agents">
      <Loaded of={models}>{({ data }) => <StartForm workspaces={workspaces} models={data} />}</Loaded>
      <WorkspacesCard workspaces={workspaces} />
      <SessionsList />
    </div>
  );
};

const EXAMPLE = JSON.stringify({ mcpServers: { demo: { workspace: '/srv/demo' } } }, null, 2);

const Off = ({ reason }: { readonly reason: string }) => (
  <Card title="Agents are off">
    <p>
      Agents let codex run commands and change files, in folders that you name. Each is an entry of{' '}
      <code>mcpServers</code> with <code>workspace</code> in the config file:
    </p>
    <CodeBlock text={EXAMPLE} label="Copy the example" />
    <p>Then start the server again. What the server says: “{reason}”</p>
  </Card>
);
