import { useEffect, useState } from 'preact/hooks';

import { Button } from '../../components/button.tsx';
import { Icon } from '../../components/icon.tsx';
import { ErrorNote } from '../../components/states.tsx';
import { CANCEL, InputKeys, messageInput, sendInput } from './send-input.ts';

interface SessionComposerProps {
  readonly sessionId: string;
  /** A turn runs: the message is added to it. */
  readonly isRunning: boolean;
  /** Why nothing can be sent; null: it can. */
  readonly blocked: string | null;
  readonly onSent: (text: string) => void;
}

/** Where a person writes to the session: the next message, or one that steers the turn that runs. */
export const SessionComposer = ({ sessionId, isRunning, blocked, onSent }: SessionComposerProps) => {
  const [text, setText] = useState('');
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  // Sent again after an error, the same text has an effect only once.
  const [keys] = useState(() => new InputKeys());
  const isEmpty = text.trim() === '';
  const { isCancelling, cancel } = useCancel(sessionId, isRunning, setError);
  const submit = async (): Promise<void> => {
    if (isEmpty || isBusy || blocked !== null) return;
    setIsBusy(true);
    setError(null);
    try {
      await sendInput(sessionId, messageInput(text), keys.keyOf(text));
      keys.arrived();
      // Not what was typed meanwhile.
      setText((now) => (now === text ? '' : now));
      onSent(text);
    } catch (reason) {
      setError(reason);
    }
    setIsBusy(false);
  };
  return (
    <form
      class="session-composer"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {error === null ? null : <ErrorNote error={error} />}
      <div class="composer-row">
        <textarea
          aria-label={isRunning ? 'Message to the running turn' : 'Message'}
          placeholder={blocked ?? (isRunning ? 'Steer codex…' : 'What should codex do next?')}
          rows={Math.min(8, Math.max(1, text.split('\n').length))}
          value={text}
          disabled={blocked !== null}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
            event.preventDefault();
            void submit();
          }}
        />
        <Button kind="primary" type="submit" isBusy={isBusy} isDisabled={isEmpty || blocked !== null}>
          {isRunning ? 'Steer' : 'Send'}
        </Button>
        {isRunning ? (
          <Button kind="danger" label="Cancel the turn" isBusy={isCancelling} onPress={cancel}>
            <Icon name="stop" />
          </Button>
        ) : null}
      </div>
    </form>
  );
};

/** Cancelling takes until the commands of the turn have ended. */
const useCancel = (sessionId: string, isRunning: boolean, onError: (error: unknown) => void) => {
  const [isCancelling, setIsCancelling] = useState(false);
  useEffect(() => {
    if (!isRunning) setIsCancelling(false);
  }, [isRunning]);
  const cancel = async (): Promise<void> => {
    setIsCancelling(true);
    onError(null);
    try {
      await sendInput(sessionId, CANCEL);
    } catch (reason) {
      onError(reason);
      setIsCancelling(false);
    }
  };
  return { isCancelling, cancel: () => void cancel() };
};
