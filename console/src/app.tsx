import { useCallback, useEffect, useState } from 'preact/hooks';

import { api, SIGNED_OUT } from './api/client.ts';
import { PageHead } from './components/page-head.tsx';
import { ErrorNote, Loading } from './components/states.tsx';
import { Layout } from './layout/layout.tsx';
import { OpenPage } from './layout/open-page.tsx';
import { PAGES } from './pages.ts';
import { SignInPage } from './pages/sign-in/sign-in-page.tsx';
import { findPage } from './routing/find-page.ts';
import { Link } from './routing/link.tsx';
import { useLocation } from './routing/location.ts';
import { SessionContext, type SessionAnswer } from './session.ts';

/** The whole console: the sign-in page, or the page of the address. */
export const App = () => {
  const [answer, setAnswer] = useState<SessionAnswer | null>(null);
  const [error, setError] = useState<unknown>(null);
  const { path } = useLocation();

  const load = useCallback(async () => {
    setError(null);
    try {
      setAnswer(await api.get<SessionAnswer>('/console/session'));
    } catch (reason) {
      setError(reason);
    }
  }, []);
  useEffect(() => void load(), [load]);

  useEffect(() => {
    const ended = (): void => setAnswer((before) => (before === null ? null : { ...before, session: null }));
    window.addEventListener(SIGNED_OUT, ended);
    return () => window.removeEventListener(SIGNED_OUT, ended);
  }, []);

  const signOut = useCallback(async () => {
    try {
      setAnswer(await api.delete<SessionAnswer>('/console/session'));
    } catch (reason) {
      setError(reason);
    }
  }, []);

  if (error !== null) {
    return (
      <main class="alone">
        <ErrorNote error={error} onRetry={() => void load()} />
      </main>
    );
  }
  if (answer === null) {
    return (
      <main class="alone">
        <Loading />
      </main>
    );
  }
  if (answer.session === null) return <SignInPage version={answer.version} onSignedIn={setAnswer} />;
  const found = findPage(PAGES, path);
  return (
    <SessionContext.Provider value={answer.session}>
      <Layout current={found?.page.path ?? null} version={answer.version} onSignOut={() => void signOut()}>
        {found === null ? (
          <UnknownPage />
        ) : (
          <OpenPage key={found.page.path} page={found.page} rest={found.rest} />
        )}
      </Layout>
    </SessionContext.Provider>
  );
};

const UnknownPage = () => (
  <>
    <PageHead title="No such page" />
    <p>
      The console has no page with this address. <Link to="/">Go to the start page</Link>
    </p>
  </>
);
