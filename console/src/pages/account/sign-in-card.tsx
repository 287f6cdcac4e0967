import { useState } from 'preact/hooks';

import { api } from '../../api/client.ts';
import type { Resource } from '../../api/use-resource.ts';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { ErrorNote, Loaded } from '../../components/states.tsx';
import { hasScope, useSession } from '../../session.ts';
import type { SignIn, SignInMethod, SignIns } from './account-answers.ts';
import { PendingSignIn } from './pending-sign-in.tsx';

interface SignInCardProps {
  readonly signIns: Resource<SignIns>;
  readonly isSignedIn: boolean;
  readonly onChange: () => void;
}

/** Signs in by device code or browser, and out. */
export const SignInCard = ({ signIns, isSignedIn, onChange }: SignInCardProps) => {
  const isAdmin = hasScope(useSession(), 'admin');
  const [busy, setBusy] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isAsking, setIsAsking] = useState(false);

  const run = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    setBusy(what);
    setError(null);
    try {
      await work();
    } catch (reason) {
      setError(reason);
    }
    setBusy(null);
    setIsAsking(false);
    onChange();
  };
  const start = (method: SignInMethod): void =>
    void run(method, () => api.post('/v1/codex/login', { method }));

  return (
    <Card title={isSignedIn ? 'Change the login' : 'Sign in'}>
      {error === null ? null : <ErrorNote error={error} />}
      <Loaded of={signIns}>
        {({ data: [last], methods, overridden_by: overriddenBy }) => (
          <>
            {overriddenBy === null ? null : (
              <p class="note">
                {overriddenBy} is set and takes precedence over the login. Remove it and restart the server to
                use a login.
              </p>
            )}
            {last?.status === 'pending' ? (
              <PendingSignIn
                signIn={last}
                isBusy={busy === 'cancel'}
                onCancel={
                  isAdmin ? () => void run('cancel', () => api.delete(`/v1/codex/login/${last.id}`)) : null
                }
              />
            ) : (
              <>
                <Outcome last={last} />
                {isAdmin ? (
                  <div class="sign-in-buttons">
                    <Button
                      kind="primary"
                      isBusy={busy === 'device'}
                      isDisabled={busy !== null}
                      onPress={() => start('device')}
                    >
                      Sign in with a device code
                    </Button>
                    {methods.includes('browser') ? (
                      <Button
                        isBusy={busy === 'browser'}
                        isDisabled={busy !== null}
                        onPress={() => start('browser')}
                      >
                        Sign in with this browser
                      </Button>
                    ) : null}
                    {isSignedIn ? (
                      <Button kind="danger" isDisabled={busy !== null} onPress={() => setIsAsking(true)}>
                        Sign out of the account…
                      </Button>
                    ) : null}
                  </div>
                ) : (
                  <p class="hint">To sign in or out you need a key with the scope “admin”.</p>
                )}
              </>
            )}
          </>
        )}
      </Loaded>
      {isAsking ? (
        <ConfirmDialog
          title="Sign out of ChatGPT?"
          action="Sign out"
          isBusy={busy === 'logout'}
          onConfirm={() => void run('logout', () => api.post('/v1/codex/logout'))}
          onClose={() => setIsAsking(false)}
        >
          <p>
            The login is revoked and removed from the server. Requests of all clients fail until you sign in
            again.
          </p>
        </ConfirmDialog>
      ) : null}
    </Card>
  );
};

const OUTCOMES = {
  succeeded: 'The last sign-in succeeded.',
  cancelled: 'The last sign-in was cancelled.',
  expired: 'The last sign-in took too long.',
} as const;

/** How the last sign-in ended. */
const Outcome = ({ last }: { readonly last: SignIn | undefined }) => {
  if (last === undefined || last.status === 'pending') return null;
  return last.status === 'failed' ? (
    <ErrorNote error={new Error(last.error ?? 'The last sign-in failed.')} />
  ) : (
    <p role="status">{OUTCOMES[last.status]}</p>
  );
};
