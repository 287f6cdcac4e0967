import { useEffect, useRef, useState } from 'preact/hooks';

import { api } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { Field } from '../../components/field.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { ErrorNote } from '../../components/states.tsx';
import type { SessionAnswer } from '../../session.ts';

interface SignInProps {
  readonly version: string;
  readonly onSignedIn: (answer: SessionAnswer) => void;
}

const NO_COOKIE = new Error(
  'The key is right, but this browser did not keep the session cookie. It is a Secure cookie: some browsers, such as Safari, refuse it on http://127.0.0.1. Use Chrome, Edge or Firefox, or put HTTPS in front of the server.',
);

/** Signs in with a key. The server answers with a session cookie that scripts cannot read. */
export const SignInPage = ({ version, onSignedIn }: SignInProps) => {
  const [key, setKey] = useState('');
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const field = useRef<HTMLInputElement>(null);
  // The only field of the page: after the title, which takes the focus first.
  useEffect(() => field.current?.focus(), []);

  const signIn = async (): Promise<void> => {
    setIsBusy(true);
    setError(null);
    try {
      await api.post('/console/session', { key: key.trim() });
      const answer = await api.get<SessionAnswer>('/console/session');
      if (answer.session === null) throw NO_COOKIE;
      onSignedIn(answer);
    } catch (reason) {
      setError(reason);
      setIsBusy(false);
    }
  };

  return (
    <main class="alone">
      <form
        class="card sign-in"
        onSubmit={(event) => {
          event.preventDefault();
          void signIn();
        }}
      >
        <PageHead title="Sign in" />
        <p>
          Use an API key of this server with the scope “admin”, or “read” to look without changing anything.
        </p>
        <Field
          label="API key"
          hint="The first key of a server is in the file that its start-up message names. A key for others: codex-app-server-proxy keys create --name NAME --scopes read"
        >
          {(control) => (
            <input
              {...control}
              ref={field}
              type="password"
              name="key"
              autoComplete="current-password"
              spellcheck={false}
              required
              value={key}
              onInput={(event) => setKey(event.currentTarget.value)}
            />
          )}
        </Field>
        {error === null ? null : <ErrorNote error={error} />}
        <Button kind="primary" type="submit" isBusy={isBusy}>
          Sign in
        </Button>
        <p class="hint">codex-app-server-proxy {version}</p>
      </form>
    </main>
  );
};
