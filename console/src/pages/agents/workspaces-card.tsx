import { Badge } from '../../components/badge.tsx';
import { Card } from '../../components/card.tsx';
import { workspaceName, type Environment, type McpRow } from './agent-answers.ts';

/** A workspace as the page shows it. */
export interface ShownWorkspace {
  readonly name: string;
  /** The folder exists. */
  readonly isThere: boolean;
  readonly asksByDefault: boolean;
  /** Null: the server did not say. */
  readonly details: {
    readonly path: string;
    readonly isReadOnly: boolean;
    readonly network: string;
    readonly runs: { readonly active: number; readonly max: number };
  } | null;
}

const networkText = (network: unknown): string => {
  if (network === 'all' || network === true) return 'All of the network';
  if (Array.isArray(network) && network.length > 0) return network.join(', ');
  return 'No network';
};

/** What the key may use, with what is configured of it. */
export const shownWorkspaces = (
  environments: readonly Environment[],
  rows: readonly McpRow[],
): readonly ShownWorkspace[] =>
  environments.map(({ id, status }) => {
    const name = workspaceName(id);
    const row = rows.find(({ server_label: label }) => label === name);
    const facts = row?.workspace ?? null;
    return {
      name,
      isThere: status === 'connected',
      asksByDefault: row?.require_approval !== 'never',
      details:
        facts === null
          ? null
          : {
              path: facts.path,
              isReadOnly: facts.access === 'read',
              network: networkText(facts.network),
              runs: facts.runs,
            },
    };
  });

export const WorkspacesCard = ({ workspaces }: { readonly workspaces: readonly ShownWorkspace[] }) => (
  <Card title="Workspaces">
    {workspaces.length === 0 ? (
      <p class="hint">
        This key may use none: they are named in the field <code>workspaces</code> of the key.
      </p>
    ) : (
      <ul class="workspaces">
        {workspaces.map((workspace) => (
          <WorkspaceRow key={workspace.name} workspace={workspace} />
        ))}
      </ul>
    )}
  </Card>
);

const WorkspaceRow = ({ workspace }: { readonly workspace: ShownWorkspace }) => {
  const { name, isThere, details } = workspace;
  const active = details?.runs.active ?? 0;
  return (
    <li class="workspace">
      <p class="workspace-head">
        <strong>{name}</strong>
        {isThere ? (
          details === null ? null : (
            <Badge tone={active > 0 ? 'info' : 'neutral'}>
              {active > 0 ? `${active} of ${details.runs.max} running` : 'Free'}
            </Badge>
          )
        ) : (
          <Badge tone="bad">Folder is missing</Badge>
        )}
      </p>
      {details === null ? null : (
        <>
          <code class="workspace-path">{details.path}</code>
          <p class="hint">
            {details.isReadOnly ? 'Read only' : 'Read and write'} · {details.network}
          </p>
        </>
      )}
    </li>
  );
};
