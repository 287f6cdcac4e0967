import { useState } from 'preact/hooks';

import { send } from '../../api/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/copy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNote } from '../../components/states.tsx';
import { Link } from '../../routing/link.tsx';
import { replayPath, type Replayed } from './request-answers.ts';

/** An answer may take minutes. */
const TIMEOUT_MS = 15 * 60_000;

/** Asks, sends the request again, and shows the answer. */
export const ReplayDialog = ({ id, onClose }: { readonly id: string; readonly onClose: () => void }) => {
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [replayed, setReplayed] = useState<Replayed | null>(null);
  const run = async (): Promise<void> => {
    setIsBusy(true);
    setError(null);
    try {
      const answer = await send(replayPath(id), { method: 'POST', body: {}, timeoutMs: TIMEOUT_MS });
      setReplayed((await answer.json()) as Replayed);
    } catch (reason) {
      setError(reason);
    }
    setIsBusy(false);
  };
  return (
    <Dialog title="Replay this request" onClose={onClose}>
      {replayed === null ? (
        <>
          <p>
            The captured body is sent again as a new request of your key, and counts for its limits. Nothing
            of it is stored. Tools that this server runs, such as MCP servers, run again.
          </p>
          {error === null ? null : <ErrorNote error={error} />}
          <div class="actions">
            <Button onPress={onClose}>Cancel</Button>
            <Button kind="primary" isBusy={isBusy} onPress={() => void run()}>
              Send again
            </Button>
          </div>
        </>
      ) : (
        <Answer replayed={replayed} />
      )}
    </Dialog>
  );
};

const Answer = ({ replayed }: { readonly replayed: Replayed }) => (
  <div class="replay-answer">
    <p>
      <Badge tone={replayed.status < 400 ? 'good' : 'bad'}>{String(replayed.status)}</Badge>{' '}
      {replayed.id === null ? (
        replayed.request_id
      ) : (
        <Link to={`/requests/${encodeURIComponent(replayed.id)}`}>{replayed.request_id}</Link>
      )}
    </p>
    {replayed.changes.map((change) => (
      <p key={change} class="hint">
        {change}
      </p>
    ))}
    <CodeBlock text={replayed.text} label="Copy the answer" />
    {replayed.truncated ? <p class="hint">Only the beginning of the answer is shown.</p> : null}
  </div>
);
