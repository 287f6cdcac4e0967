import { describe, expect, it } from 'vitest';

import type { Page } from '../pages.ts';
import { findPage } from './find-page.ts';

const page = (path: string): Page => ({
  path,
  title: path,
  icon: 'home',
  scope: 'read',
  load: () => Promise.reject(new Error('not loaded in this test')),
});
const pages = [page('/'), page('/keys'), page('/requests')];
const found = (path: string): unknown => {
  const one = findPage(pages, path);
  return one === null ? null : [one.page.path, one.rest];
};

describe('findPage', () => {
  it.each([
    ['/', ['/', []]],
    ['/keys', ['/keys', []]],
    ['/requests/req_1', ['/requests', ['req_1']]],
    ['/requests/a%2Fb/c', ['/requests', ['a/b', 'c']]],
    ['/requests/%zz', ['/requests', ['%zz']]],
    ['/keysets', null],
    ['/nowhere', null],
  ])('%s: %j', (path, expected) => {
    expect(found(path)).toEqual(expected);
  });
});
