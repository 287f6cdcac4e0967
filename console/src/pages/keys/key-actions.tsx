import { useState } from 'preact/hooks';

import { api } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { ErrorNote } from '../../components/states.tsx';
import { changesOf, draftOf } from './key-draft.ts';
import { KeyForm } from './key-form.tsx';
import type { Key, KeyWithSecret } from './key-types.ts';
import { SecretDialog } from './secret-dialog.tsx';

interface KeyActionsProps {
  readonly of: Key;
  readonly onChanged: () => void;
}

type Open =
  | { readonly kind: 'edit' | 'revoke' | 'rotate' }
  | { readonly kind: 'secret'; readonly made: KeyWithSecret };

const pathOf = (id: string, action = ''): string => `/v1/codex/keys/${encodeURIComponent(id)}${action}`;

/** What an administrator can do with a key. */
export const KeyActions = ({ of: key, onChanged }: KeyActionsProps) => {
  const [open, setOpen] = useState<Open | null>(null);
  const [busy, setBusy] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const close = (): void => setOpen(null);

  const act = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    setBusy(name);
    setError(null);
    try {
      await work();
      onChanged();
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(null);
    }
  };
  const post = (action: string): void => void act(action, () => api.post(pathOf(key.id, `/${action}`)));
  if (key.status === 'revoked') return null;
  return (
    <>
      <div class="actions">
        <Button onPress={() => setOpen({ kind: 'edit' })}>Edit</Button>
        <Button onPress={() => setOpen({ kind: 'rotate' })}>Rotate</Button>
        {key.status === 'paused' ? (
          <Button isBusy={busy === 'resume'} onPress={() => post('resume')}>
            Resume
          </Button>
        ) : (
          <Button isBusy={busy === 'pause'} onPress={() => post('pause')}>
            Pause
          </Button>
        )}
        {key.limits.length === 0 ? null : (
          <Button isBusy={busy === 'reset'} onPress={() => post('reset')}>
            Reset limits
          </Button>
        )}
        <Button kind="danger" onPress={() => setOpen({ kind: 'revoke' })}>
          Revoke
        </Button>
      </div>
      {error === null ? null : <ErrorNote error={error} />}
      {open?.kind === 'edit' ? (
        <KeyForm
          title={`Edit ${key.name}`}
          action="Save"
          first={draftOf(key)}
          onSave={async (draft) => {
            await api.post(pathOf(key.id), changesOf(key, draft));
            close();
            onChanged();
          }}
          onClose={close}
        />
      ) : null}
      {open?.kind === 'rotate' ? (
        <RotateDialog
          of={key}
          onRotated={(made) => {
            setOpen({ kind: 'secret', made });
            onChanged();
          }}
          onClose={close}
        />
      ) : null}
      {open?.kind === 'secret' ? <SecretDialog made={open.made} onClose={close} /> : null}
      {open?.kind === 'revoke' ? (
        <ConfirmDialog
          title={`Revoke ${key.name}?`}
          action="Revoke"
          isBusy={busy === 'revoke'}
          onConfirm={() => void act('revoke', () => api.delete(pathOf(key.id))).then(close)}
          onClose={close}
        >
          <p>Requests with this key fail from then on. A revoked key cannot be used again.</p>
        </ConfirmDialog>
      ) : null}
    </>
  );
};

const OVERLAPS: readonly (readonly [seconds: number, text: string])[] = [
  [0, 'not at all'],
  [3_600, 'for an hour'],
  [86_400, 'for a day'],
  [604_800, 'for 7 days'],
];

interface RotateProps {
  readonly of: Key;
  readonly onRotated: (made: KeyWithSecret) => void;
  readonly onClose: () => void;
}

const RotateDialog = ({ of: key, onRotated, onClose }: RotateProps) => {
  const [overlap, setOverlap] = useState(86_400);
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const rotate = async (): Promise<void> => {
    setIsBusy(true);
    setError(null);
    try {
      onRotated(await api.post<KeyWithSecret>(pathOf(key.id, '/rotate'), { overlap_seconds: overlap }));
    } catch (reason) {
      setError(reason);
      setIsBusy(false);
    }
  };
  return (
    <Dialog title={`Rotate ${key.name}`} onClose={onClose}>
      <p>The key gets a new secret. Its limits, usage and conversations stay.</p>
      <Field label="The old secret works">
        {(control) => (
          <select
            {...control}
            value={String(overlap)}
            onChange={(event) => setOverlap(Number(event.currentTarget.value))}
          >
            {OVERLAPS.map(([seconds, text]) => (
              <option key={seconds} value={String(seconds)}>
                {text}
              </option>
            ))}
          </select>
        )}
      </Field>
      {error === null ? null : <ErrorNote error={error} />}
      <div class="actions">
        <Button onPress={onClose}>Cancel</Button>
        <Button kind="primary" isBusy={isBusy} onPress={() => void rotate()}>
          Rotate
        </Button>
      </div>
    </Dialog>
  );
};
