import { useId, useState } from 'preact/hooks';

import { api } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { Field } from '../../components/field.tsx';
import { ErrorNote } from '../../components/states.tsx';
import { navigate } from '../../routing/location.ts';
import { APPROVAL, SESSIONS_PATH, type AgentSession } from './agent-answers.ts';
import type { ShownWorkspace } from './workspaces-card.tsx';

/** An entry of `GET /v1/codex/models`. */
export interface AgentModel {
  readonly id: string;
  readonly is_default: boolean;
  readonly hidden: boolean;
  readonly reasoning_efforts: readonly string[] | null;
  readonly default_reasoning_effort: string | null;
}

interface Draft {
  readonly text: string;
  /** Empty: without a workspace. */
  readonly workspace: string;
  readonly model: string;
  readonly effort: string;
  readonly instructions: string;
  /** Null: what the workspace's configuration says. */
  readonly asks: boolean | null;
}

/** The body of `POST /v1/agents/sessions`. */
const sessionBody = ({ text, workspace, model, effort, instructions }: Draft, asks: boolean) => ({
  environment: workspace === '' ? { type: 'none' } : { type: 'self_hosted', workspace_directory: workspace },
  agent: {
    model,
    reasoning: { ...(effort === '' ? {} : { effort }), summary: 'auto' },
    ...(instructions.trim() === '' ? {} : { instructions }),
    ...(asks && workspace !== ''
      ? {
          tools: [
            {
              type: 'function',
              name: APPROVAL,
              description: 'Asks a person before a command or a patch.',
              parameters: { type: 'object', properties: {} },
            },
          ],
        }
      : {}),
  },
  input: text,
});

interface StartFormProps {
  readonly workspaces: readonly ShownWorkspace[];
  readonly models: readonly AgentModel[];
}

const FALLBACK_EFFORTS = ['low', 'medium', 'high'];

/** Starts a session, and opens it. */
export const StartForm = ({ workspaces, models }: StartFormProps) => {
  const first = workspaces.find(({ isThere }) => isThere);
  const [draft, setDraft] = useState<Draft>({
    text: '',
    workspace: first?.name ?? '',
    model: (models.find(({ is_default: isDefault }) => isDefault) ?? models[0])?.id ?? '',
    effort: '',
    instructions: '',
    asks: null,
  });
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const change = (fields: Partial<Draft>): void => setDraft({ ...draft, ...fields });
  const chosen = workspaces.find(({ name }) => name === draft.workspace);
  const asks = draft.asks ?? chosen?.asksByDefault ?? true;
  const isReady = draft.text.trim() !== '' && draft.model.trim() !== '';
  const start = async (): Promise<void> => {
    if (!isReady || isBusy) return;
    setIsBusy(true);
    setError(null);
    try {
      const { id } = await api.post<AgentSession>(SESSIONS_PATH, sessionBody(draft, asks));
      navigate(`/agents/${encodeURIComponent(id)}`);
    } catch (reason) {
      setError(reason);
      setIsBusy(false);
    }
  };
  return (
    <Card title="New session">
      <form
        class="start"
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <Field label="Message" hint="Ctrl or ⌘ and Enter starts the session.">
          {(control) => (
            <textarea
              {...control}
              rows={4}
              placeholder="What should codex do?"
              value={draft.text}
              onInput={(event) => change({ text: event.currentTarget.value })}
              onKeyDown={(event) => {
                if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
                event.preventDefault();
                void start();
              }}
            />
          )}
        </Field>
        <div class="start-row">
          <Field label="Workspace">
            {(control) => (
              <select
                {...control}
                value={draft.workspace}
                onChange={(event) => change({ workspace: event.currentTarget.value, asks: null })}
              >
                {workspaces.map(({ name, isThere }) => (
                  <option key={name} value={name} disabled={!isThere}>
                    {name}
                  </option>
                ))}
                <option value="">None: no files, no commands</option>
              </select>
            )}
          </Field>
          <ModelFields draft={draft} models={models} onChange={change} />
        </div>
        <details class="start-more">
          <summary>Instructions</summary>
          <textarea
            aria-label="Instructions"
            rows={3}
            placeholder="Added to codex's own"
            value={draft.instructions}
            onInput={(event) => change({ instructions: event.currentTarget.value })}
          />
        </details>
        <div class="start-end">
          <label class="check">
            <input
              type="checkbox"
              checked={asks && draft.workspace !== ''}
              disabled={draft.workspace === ''}
              onChange={(event) => change({ asks: event.currentTarget.checked })}
            />
            Ask before commands
          </label>
          <Button kind="primary" type="submit" isBusy={isBusy} isDisabled={!isReady}>
            Start
          </Button>
        </div>
        {error === null ? null : <ErrorNote error={error} />}
      </form>
    </Card>
  );
};

interface ModelFieldsProps {
  readonly draft: Draft;
  readonly models: readonly AgentModel[];
  readonly onChange: (fields: Partial<Draft>) => void;
}

const ModelFields = ({ draft, models, onChange }: ModelFieldsProps) => {
  const listId = useId();
  const known = models.find(({ id }) => id === draft.model);
  const standard = known?.default_reasoning_effort ?? null;
  return (
    <>
      <Field label="Model">
        {(control) => (
          <input
            {...control}
            list={listId}
            value={draft.model}
            onInput={(event) => onChange({ model: event.currentTarget.value })}
          />
        )}
      </Field>
      <datalist id={listId}>
        {models
          .filter(({ hidden }) => !hidden)
          .map(({ id }) => (
            <option key={id} value={id}>
              {id}
            </option>
          ))}
      </datalist>
      <Field label="Effort">
        {(control) => (
          <select
            {...control}
            value={draft.effort}
            onChange={(event) => onChange({ effort: event.currentTarget.value })}
          >
            <option value="">{standard === null ? 'Default' : `Default (${standard})`}</option>
            {(known?.reasoning_efforts ?? FALLBACK_EFFORTS).map((effort) => (
              <option key={effort} value={effort}>
                {effort}
              </option>
            ))}
          </select>
        )}
      </Field>
    </>
  );
};
