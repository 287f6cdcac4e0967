import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import { Button } from '../components/button.tsx';
import { Icon } from '../components/icon.tsx';
import { PAGES } from '../pages.ts';
import { Link } from '../routing/link.tsx';
import { hasScope, useSession } from '../session.ts';

interface LayoutProps {
  /** The path of the open page; null for an address without a page. */
  readonly current: string | null;
  readonly version: string;
  readonly onSignOut: () => void;
  readonly children: ComponentChildren;
}

/** Navigation and content. On a narrow screen the navigation opens from a button. */
export const Layout = ({ current, version, onSignOut, children }: LayoutProps) => {
  const session = useSession();
  const [isOpen, setIsOpen] = useState(false);
  useEffect(() => setIsOpen(false), [current]);
  const close = (): void => setIsOpen(false);
  return (
    <>
      <a
        class="skip"
        href="#content"
        onClick={(event) => {
          event.preventDefault();
          document.querySelector<HTMLElement>('#content')?.focus();
        }}
      >
        Skip to content
      </a>
      <div class="shell">
        <header class="side">
          <div class="brand">
            <span class="brand-mark" aria-hidden="true">
              <Icon name="playground" />
            </span>
            <span class="brand-name">codex-app-server-proxy</span>
            <button
              type="button"
              class="button button-quiet menu-button"
              aria-expanded={isOpen}
              aria-controls="navigation"
              onClick={() => setIsOpen(!isOpen)}
            >
              <Icon name={isOpen ? 'close' : 'menu'} />
              <span class="visually-hidden">Menu</span>
            </button>
          </div>
          <div id="navigation" class={isOpen ? 'menu menu-open' : 'menu'}>
            <nav aria-label="Pages">
              <ul>
                {PAGES.filter(({ scope }) => hasScope(session, scope)).map(({ path, title, icon }) => (
                  <li key={path}>
                    <Link to={path} class="nav-link" isCurrent={path === current} onOpen={close}>
                      <Icon name={icon} />
                      {title}
                    </Link>
                  </li>
                ))}
              </ul>
            </nav>
            <div class="signed-in">
              <p>
                <span class="hint">Signed in with</span>
                <br />
                {session.name ?? session.key_id}
                {hasScope(session, 'admin') ? '' : ' (read only)'}
              </p>
              <Button onPress={onSignOut}>Sign out</Button>
              <p class="hint">Version {version}</p>
            </div>
          </div>
        </header>
        <main id="content" tabIndex={-1}>
          {children}
        </main>
      </div>
    </>
  );
};
