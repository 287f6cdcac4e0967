import { useState } from 'preact/hooks';

import { api } from '../../api/client.ts';
import { useResource } from '../../api/use-resource.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { ErrorNote, Loaded } from '../../components/states.tsx';
import { hasScope, useSession } from '../../session.ts';
import { CAPTURES_PATH, type CaptureState } from './request-answers.ts';

interface CaptureProps {
  /** Whose requests, if the person changes nothing; empty: those of all keys. */
  readonly keyId: string;
}

/** Opens the dialog. Only administrators see it. */
export const CaptureButton = ({ keyId }: CaptureProps) => {
  const session = useSession();
  const [isOpen, setIsOpen] = useState(false);
  if (!hasScope(session, 'admin')) return null;
  return (
    <>
      <Button onPress={() => setIsOpen(true)}>Capture…</Button>
      {isOpen ? <CaptureDialog keyId={keyId} onClose={() => setIsOpen(false)} /> : null}
    </>
  );
};

/** Switches capture on for the next requests, and off again. */
const CaptureDialog = ({ keyId, onClose }: CaptureProps & { readonly onClose: () => void }) => {
  const found = useResource('captures', (signal) => api.get<CaptureState>(CAPTURES_PATH, signal));
  const [changed, setChanged] = useState<CaptureState | null>(null);
  return (
    <Dialog title="Capture requests" onClose={onClose}>
      <Loaded of={found}>
        {(loaded) => <CaptureForm state={changed ?? loaded} keyId={keyId} onChanged={setChanged} />}
      </Loaded>
    </Dialog>
  );
};

interface FormProps extends CaptureProps {
  readonly state: CaptureState;
  readonly onChanged: (state: CaptureState) => void;
}

const CaptureForm = ({ state, keyId, onChanged }: FormProps) => {
  const [requests, setRequests] = useState('10');
  const [key, setKey] = useState(keyId);
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const act = async (work: () => Promise<CaptureState>): Promise<void> => {
    setIsBusy(true);
    setError(null);
    try {
      onChanged(await work());
    } catch (reason) {
      setError(reason);
    }
    setIsBusy(false);
  };
  if (state.mode === 'all') return <p>All requests are captured, because PROXY_CAPTURE_DIR is set.</p>;
  const order = { requests: Number(requests), ...(key.trim() === '' ? {} : { key_id: key.trim() }) };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void act(() => api.post<CaptureState>(CAPTURES_PATH, order));
      }}
    >
      <p>
        The bodies of captured requests and their answers are written to files in{' '}
        <code>{state.directory}</code> on this server, and their pages show them.
      </p>
      <p role="status">{describe(state)}</p>
      <Field label="Next requests" hint="1 to 100, within an hour">
        {(control) => (
          <input
            {...control}
            type="number"
            min={1}
            max={100}
            required
            value={requests}
            onInput={(event) => setRequests(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field label="Key id" hint="Empty: those of all keys">
        {(control) => (
          <input {...control} value={key} onInput={(event) => setKey(event.currentTarget.value)} />
        )}
      </Field>
      {error === null ? null : <ErrorNote error={error} />}
      <div class="actions">
        {state.mode === 'next' ? (
          <Button isBusy={isBusy} onPress={() => void act(() => api.delete<CaptureState>(CAPTURES_PATH))}>
            Stop
          </Button>
        ) : null}
        <Button kind="primary" type="submit" isBusy={isBusy}>
          Capture
        </Button>
      </div>
    </form>
  );
};

const describe = ({ mode, key_id: keyId, requests_left: left }: CaptureState): string => {
  if (mode === 'off') return 'No request is captured now.';
  const of = keyId === null ? 'all keys' : keyId;
  return `${left === 1 ? 'The next request' : `The next ${left} requests`} of ${of} will be captured.`;
};
