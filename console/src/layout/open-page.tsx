import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import { Button } from '../components/button.tsx';
import { PageHead } from '../components/page-head.tsx';
import { ErrorNote, Loading } from '../components/states.tsx';
import type { Page, PageProps } from '../pages.ts';
import { hasScope, useSession } from '../session.ts';

/** Loads the code of a page and renders it. */
export const OpenPage = ({ page, rest }: { readonly page: Page } & PageProps) => {
  const session = useSession();
  const [loaded, setLoaded] = useState<{ readonly Body: ComponentType<PageProps> } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const isAllowed = hasScope(session, page.scope);
  useEffect(() => {
    if (!isAllowed) return undefined;
    let isCurrent = true;
    page.load().then(
      (Body) => isCurrent && setLoaded({ Body }),
      (reason: unknown) => isCurrent && setError(reason),
    );
    return () => {
      isCurrent = false;
    };
  }, [page, isAllowed]);
  if (!isAllowed) return <NotAllowed page={page} />;
  if (error !== null) return <NotLoaded page={page} />;
  if (loaded === null) return <Loading />;
  return <loaded.Body rest={rest} />;
};

const NotAllowed = ({ page }: { readonly page: Page }) => (
  <>
    <PageHead title={page.title} />
    <ErrorNote
      error={new Error(`This page needs a key with the scope "${page.scope}". Sign in with such a key.`)}
    />
  </>
);

/** Happens after an update of the server: the files of the old version are gone. */
const NotLoaded = ({ page }: { readonly page: Page }) => (
  <>
    <PageHead title={page.title} />
    <div class="note note-bad" role="alert">
      <p>The code of this page could not be loaded. The server may have been updated or stopped.</p>
      <Button onPress={() => window.location.reload()}>Reload</Button>
    </div>
  </>
);
