import { useState } from 'preact/hooks';

import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { ErrorNote } from '../../components/states.tsx';
import type { Scope } from '../../session.ts';
import { draftProblems, type KeyDraft } from './key-draft.ts';
import { EFFORTS } from './key-types.ts';
import { LimitFields } from './limit-fields.tsx';

interface KeyFormProps {
  readonly title: string;
  readonly action: string;
  readonly first: KeyDraft;
  /** Rejects with the error of the server. */
  readonly onSave: (draft: KeyDraft) => Promise<void>;
  readonly onClose: () => void;
}

const SCOPES: readonly (readonly [Scope, string])[] = [
  ['infer', 'infer: run turns, and read its own responses and usage'],
  ['read', 'read: read everything of this server'],
  ['admin', 'admin: change keys and the login, and read everything'],
];

/** A dialog with all fields of a key. */
export const KeyForm = ({ title, action, first, onSave, onClose }: KeyFormProps) => {
  const [draft, setDraft] = useState(first);
  const [isChecked, setIsChecked] = useState(false);
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const problems = isChecked ? draftProblems(draft) : {};
  const set = (changes: Partial<KeyDraft>): void => setDraft({ ...draft, ...changes });

  const save = async (): Promise<void> => {
    setIsChecked(true);
    setError(null);
    if (isBusy || Object.keys(draftProblems(draft)).length > 0) return;
    setIsBusy(true);
    try {
      await onSave(draft);
    } catch (reason) {
      setError(reason);
      setIsBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <TextField
          label="Name"
          value={draft.name}
          error={problems['name']}
          onInput={(name) => set({ name })}
        />
        <TextField
          label="Note"
          hint="For people, such as who has the key."
          value={draft.note}
          onInput={(note) => set({ note })}
        />
        <Scopes scopes={draft.scopes} error={problems['scopes']} onChange={(scopes) => set({ scopes })} />
        <Field label="Expires" hint="Empty: never." error={problems['expires'] ?? null}>
          {(control) => (
            <input
              {...control}
              type="datetime-local"
              step={1}
              value={draft.expires}
              onInput={(event) => set({ expires: event.currentTarget.value })}
            />
          )}
        </Field>
        <LinesField
          label="Allowed models"
          hint="One in each line; * matches anything. Empty: all models."
          value={draft.models}
          onInput={(models) => set({ models })}
        />
        <LinesField
          label="Allowed workspaces"
          hint="One in each line; * matches anything. Empty: none. A key with one can run any program in it."
          value={draft.workspaces}
          onInput={(workspaces) => set({ workspaces })}
        />
        <EffortField effort={draft.effort} onChange={(effort) => set({ effort })} />
        <LinesField
          label="Allowed addresses"
          hint="One address or range such as 10.0.0.0/8 in each line. Empty: any address."
          value={draft.addresses}
          onInput={(addresses) => set({ addresses })}
        />
        <TextField
          label="Turns at the same time"
          hint="Empty: only the limit of the server."
          value={draft.concurrency}
          error={problems['concurrency']}
          onInput={(concurrency) => set({ concurrency })}
        />
        <TextField
          label="Storage in MB"
          hint="How much is kept for the key. Empty: the limit of the server. 0: no limit."
          value={draft.storage}
          error={problems['storage']}
          onInput={(storage) => set({ storage })}
        />
        <LimitFields limits={draft.limits} problems={problems} onChange={(limits) => set({ limits })} />
        {error === null ? null : <ErrorNote error={error} />}
        <div class="actions">
          <Button onPress={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" isBusy={isBusy}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
};

interface TextFieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly error?: string | undefined;
  readonly onInput: (value: string) => void;
}

const TextField = ({ label, hint, value, error, onInput }: TextFieldProps) => (
  <Field label={label} error={error ?? null} {...(hint === undefined ? {} : { hint })}>
    {(control) => (
      <input {...control} value={value} onInput={(event) => onInput(event.currentTarget.value)} />
    )}
  </Field>
);

const LinesField = ({ label, hint, value, onInput }: TextFieldProps) => (
  <Field label={label} {...(hint === undefined ? {} : { hint })}>
    {(control) => (
      <textarea {...control} rows={2} value={value} onInput={(event) => onInput(event.currentTarget.value)} />
    )}
  </Field>
);

interface EffortFieldProps {
  readonly effort: string;
  readonly onChange: (effort: string) => void;
}

const EffortField = ({ effort, onChange }: EffortFieldProps) => (
  <Field label="Highest reasoning effort">
    {(control) => (
      <select {...control} value={effort} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">any</option>
        {EFFORTS.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    )}
  </Field>
);

interface ScopesProps {
  readonly scopes: readonly Scope[];
  readonly error: string | undefined;
  readonly onChange: (scopes: readonly Scope[]) => void;
}

const Scopes = ({ scopes, error, onChange }: ScopesProps) => (
  <fieldset class="scopes">
    <legend>Scopes</legend>
    {SCOPES.map(([scope, text]) => (
      <label key={scope} class="check">
        <input
          type="checkbox"
          checked={scopes.includes(scope)}
          onChange={(event) => {
            const { checked } = event.currentTarget;
            onChange(
              SCOPES.map(([one]) => one).filter((one) => (one === scope ? checked : scopes.includes(one))),
            );
          }}
        />
        {text}
      </label>
    ))}
    {error === undefined ? null : (
      <p class="field-error" role="alert">
        {error}
      </p>
    )}
  </fieldset>
);
