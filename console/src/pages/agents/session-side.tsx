import { useId, useMemo, useState } from 'preact/hooks';

import { Card } from '../../components/card.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Facts } from '../../components/facts.tsx';
import { Time } from '../../components/time.tsx';
import { compact, whole } from '../../format/numbers.ts';
import {
  APPROVAL,
  argumentsOf,
  asksBeforeCommands,
  workspaceOf,
  type AgentSession,
} from './agent-answers.ts';
import { changesOf, diffOf } from './diff.ts';
import { DiffCounts } from './patch-view.tsx';
import { visible } from './readable.ts';
import type { PlanStep, Watched, WatchedTurn } from './watched.ts';

/** What is worth to keep in sight: the plan, the changed files, the usage, and facts. */
export const SessionSide = ({ watched }: { readonly watched: Watched }) => {
  const { session, turns, plan } = watched;
  const id = useId();
  // On a narrow screen only: a wide one always shows it.
  const [isOpen, setIsOpen] = useState(false);
  return (
    <aside class="session-side" aria-label="About this session">
      <button
        type="button"
        class="side-toggle"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setIsOpen(!isOpen)}
      >
        <span class="run-chevron" aria-hidden="true" /> Plan, files, usage
      </button>
      <div id={id} class={isOpen ? 'side-cards side-cards-open' : 'side-cards'}>
        {plan.length > 0 ? <Plan steps={plan} /> : null}
        <ChangedFiles turns={turns} />
        <UsageCard session={session} />
        <SessionFacts session={session} />
      </div>
    </aside>
  );
};

const MARKS = { completed: 'Done', in_progress: 'Now', pending: 'Later' } as const;

const Plan = ({ steps }: { readonly steps: readonly PlanStep[] }) => {
  const done = steps.filter(({ status }) => status === 'completed').length;
  return (
    <Card title="Plan" aside={<span class="hint">{`${done} of ${steps.length}`}</span>}>
      <ol class="plan">
        {steps.map(({ step, status }) => (
          <li
            key={step}
            class={`plan-step plan-${status}`}
            aria-current={status === 'in_progress' ? 'step' : undefined}
          >
            <span class="plan-mark" aria-hidden="true" />
            <span>
              <span class="visually-hidden">{MARKS[status]}: </span>
              {step}
            </span>
          </li>
        ))}
      </ol>
    </Card>
  );
};

interface Changed {
  readonly added: number;
  readonly removed: number;
}

/** Lines added and removed by the patches that were applied, for each file. */
const changedFiles = (turns: readonly WatchedTurn[]): ReadonlyMap<string, Changed> => {
  const files = new Map<string, Changed>();
  for (const { item } of turns.flatMap(({ entries }) => entries)) {
    if (item['name'] !== 'apply_patch' || item.status !== 'completed') continue;
    for (const change of changesOf(argumentsOf(item['arguments']))) {
      const { added, removed } = diffOf(change);
      const name = change.movePath ?? change.path;
      const before = files.get(name) ?? { added: 0, removed: 0 };
      files.set(name, { added: before.added + added, removed: before.removed + removed });
    }
  }
  return files;
};

const ChangedFiles = ({ turns }: { readonly turns: readonly WatchedTurn[] }) => {
  // Text and output of other items change often.
  const patches = turns
    .flatMap(({ entries }) => entries)
    .filter(({ item }) => item['name'] === 'apply_patch')
    .map(({ item }) => `${item.id} ${item.status}`)
    .join();
  // oxlint-disable-next-line react/exhaustive-deps
  const files = useMemo(() => [...changedFiles(turns)], [patches]);
  if (files.length === 0) return null;
  return (
    <Card title="Changed files" aside={<span class="hint">{whole(files.length)}</span>}>
      <ul class="changed" tabIndex={0} aria-label="Changed files">
        {files.map(([path, counts]) => (
          <li key={path}>
            <code title={path}>{visible(path)}</code>
            <DiffCounts {...counts} />
          </li>
        ))}
      </ul>
    </Card>
  );
};

const UsageCard = ({ session: { usage } }: { readonly session: AgentSession }) => (
  <Card title="Usage">
    {usage === null ? (
      <p class="hint">It is counted when a turn ends.</p>
    ) : (
      <dl class="figures">
        {(
          [
            ['Tokens in', usage.input_tokens],
            ['of them cached', usage.input_tokens_details?.cached_tokens ?? 0],
            ['Tokens out', usage.output_tokens],
            ['of them reasoning', usage.output_tokens_details?.reasoning_tokens ?? 0],
          ] as const
        ).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd title={whole(value)}>{compact(value)}</dd>
          </div>
        ))}
      </dl>
    )}
  </Card>
);

const SessionFacts = ({ session }: { readonly session: AgentSession }) => {
  const { agent, environment, id } = session;
  const workspace = workspaceOf(session);
  const functions = agent.tools.filter(({ type, name }) => type === 'function' && name !== APPROVAL).length;
  const folder = environment.workspace_directory;
  return (
    <Card title="Session">
      <Facts
        rows={[
          ['Workspace', workspace ?? 'None'],
          ...(folder === undefined ? [] : [['Folder', <code key="folder">{folder}</code>] as const]),
          ['Model', agent.model],
          ['Effort', agent.reasoning?.effort ?? 'Default'],
          ['Asks first', asksBeforeCommands(session) ? 'Yes' : 'No'],
          ...(functions > 0 ? [['Functions', whole(functions)] as const] : []),
          ...(agent.instructions === null ? [] : [['Instructions', agent.instructions] as const]),
          ['Created', <Time key="created" at={session.created_at} />],
          ['Last active', <Time key={session.last_active_at} at={session.last_active_at} />],
        ]}
      />
      <div class="copy-id">
        <code>{id}</code>
        <CopyButton text={id} label="Copy the id of the session" />
      </div>
    </Card>
  );
};
