import type { ComponentType } from 'preact';

import type { IconName } from './components/icon.tsx';
import type { Scope } from './session.ts';

export interface PageProps {
  /** The decoded parts of the address after the page's path: `['req_1']` for `/console/requests/req_1`. */
  readonly rest: readonly string[];
}

/** A page of the console. Its code is loaded when it is opened for the first time. */
export interface Page {
  /** Below `/console`. Longer addresses that begin with it belong to the page, too. */
  readonly path: string;
  readonly title: string;
  readonly icon: IconName;
  /** What the key of the session needs to open the page. */
  readonly scope: Scope;
  readonly load: () => Promise<ComponentType<PageProps>>;
}

/** Every page, in the order of the navigation. A new page is a folder in `pages` and a row here. */
export const PAGES: readonly Page[] = [
  {
    path: '/',
    title: 'Home',
    icon: 'home',
    scope: 'read',
    load: async () => (await import('./pages/home/home-page.tsx')).HomePage,
  },
  {
    path: '/requests',
    title: 'Requests',
    icon: 'requests',
    scope: 'read',
    load: async () => (await import('./pages/requests/requests-page.tsx')).RequestsPage,
  },
  {
    path: '/conversations',
    title: 'Conversations',
    icon: 'conversations',
    scope: 'read',
    load: async () => (await import('./pages/conversations/conversations-page.tsx')).ConversationsPage,
  },
  {
    path: '/keys',
    title: 'Keys',
    icon: 'keys',
    scope: 'read',
    load: async () => (await import('./pages/keys/keys-page.tsx')).KeysPage,
  },
  {
    path: '/account',
    title: 'Account',
    icon: 'account',
    scope: 'read',
    load: async () => (await import('./pages/account/account-page.tsx')).AccountPage,
  },
  {
    path: '/playground',
    title: 'Playground',
    icon: 'playground',
    scope: 'read',
    load: async () => (await import('./pages/playground/playground-page.tsx')).PlaygroundPage,
  },
  {
    path: '/agents',
    title: 'Agents',
    icon: 'agents',
    scope: 'infer',
    load: async () => (await import('./pages/agents/agents-page.tsx')).AgentsPage,
  },
  {
    path: '/settings',
    title: 'Settings',
    icon: 'settings',
    scope: 'read',
    load: async () => (await import('./pages/settings/settings-page.tsx')).SettingsPage,
  },
];
