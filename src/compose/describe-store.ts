import path from 'node:path';

import type { Config } from '../config/schema.ts';

/** The file of the SQLite database. */
export const storeFile = ({ dir }: Pick<Config['state'], 'dir'>): string => path.join(dir, 'state.db');

/** Where answers are stored, for people. Passwords in the address are not shown. */
export const describeStore = (state: Config['state']): string => {
  if (state.store === 'off') return 'off: nothing is kept between requests (PROXY_STORE=off)';
  const where = state.databaseUrl === null ? storeFile(state) : `PostgreSQL at ${hostOf(state.databaseUrl)}`;
  const days = `${state.ttlDays} ${state.ttlDays === 1 ? 'day' : 'days'}`;
  return `${where}, kept for ${days}${state.keys.length > 0 ? ', encrypted' : ''}`;
};

const hostOf = (url: string): string => {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
};
