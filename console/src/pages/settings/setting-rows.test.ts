import { expect, it } from 'vitest';

import { settingRows } from './setting-rows.ts';

const answer = {
  codex_version: '1.0.0',
  app_server: {},
  settings: { PROXY_WORKERS: 2, PORT: 11_435, PROXY_TITLE_MODEL: null, PROXY_STORE: 'off' },
  setting_sources: { PROXY_WORKERS: 'environment', PROXY_STORE: 'config file', PORT: 'default' },
};
const found = (query: string, isChanged = false): unknown =>
  settingRows(answer, { query, isChanged }).map(({ name, value, source }) => [name, value, source]);

it('lists settings by name, with their value and its source', () => {
  expect(found('')).toEqual([
    ['PORT', '11435', 'default'],
    ['PROXY_STORE', 'off', 'config file'],
    ['PROXY_TITLE_MODEL', '', 'default'],
    ['PROXY_WORKERS', '2', 'environment'],
  ]);
});

it('finds settings by a part of the name or the value, and those that differ from the default', () => {
  expect([found('OFF'), found(' title '), found('nothing')]).toEqual([
    [['PROXY_STORE', 'off', 'config file']],
    [['PROXY_TITLE_MODEL', '', 'default']],
    [],
  ]);
  expect(found('proxy', true)).toHaveLength(2);
});
