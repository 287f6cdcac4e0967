import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { ALL_METRICS, ALL_SETTINGS } from '../../src/compose/features.ts';
import { SETTINGS_NOT_SERVED } from './settings-not-served.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

const COUNT = 214;
const STATUSES = new Set(['otherwise', 'not served']);

interface Row {
  readonly number: number;
  readonly requirement: string;
  readonly status: string;
  readonly where: string;
}

const page = read('docs/requirements.md');

/** The requirements that are not simply served. */
const rows = [...page.matchAll(/^\| (\d+) \| (.+?) \| (.+?) \| (.+) \|$/gm)].map(
  ([, number = '', requirement = '', status = '', where = '']): Row => ({
    number: Number(number),
    requirement,
    status,
    where,
  }),
);

/** The numbers of lines such as "Served as asked: 1–15, 18." */
const served = [...page.matchAll(/^Served as asked: (.+)\.$/gm)].flatMap(([, list = '']) =>
  list.split(', ').flatMap((range) => {
    const [first = NaN, last = first] = range.split('–').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  }),
);

/** Every match of a pattern in the page. */
const named = (pattern: RegExp): string[] => [...page.matchAll(pattern)].map(([, name = '']) => name);

describe('the requirements page', () => {
  it('has every number once: served as asked, or with a row', () => {
    const numbers = [...served, ...rows.map(({ number }) => number)].toSorted((one, other) => one - other);
    expect(numbers).toEqual(Array.from({ length: COUNT }, (_, index) => index + 1));
    expect(page).toContain(`${served.length} requirements are served as asked`);
  });

  it('states for each other requirement whether it is served in another way, or not at all', () => {
    expect(rows.filter(({ status }) => !STATUSES.has(status))).toEqual([]);
  });

  it('names a file, a setting, an endpoint or a page for each requirement that is served in another way', () => {
    const proof = /`(?:src|test|scripts)\/|`PROXY_|`(?:GET|POST) \/|`npm run |\]\(/;
    const otherwise = rows.filter(({ status }) => status === 'otherwise');
    expect(otherwise.filter(({ where }) => !proof.test(where)).map(({ number }) => number)).toEqual([]);
  });

  it('names existing files, each with its name', () => {
    const files = named(/`((?:src|test|scripts|docs)\/[^`\s]+)`/g);
    expect(files.length).toBeGreaterThan(30);
    expect(files.filter((file) => !existsSync(path.join(ROOT, file)))).toEqual([]);
  });

  it('names existing settings, or states that they are not served', () => {
    const settings = named(/\b(PROXY_[A-Z_]*[A-Z])\b/g);
    expect(settings.length).toBeGreaterThan(6);
    const absent = settings.filter((name) => !Object.hasOwn(ALL_SETTINGS, name));
    expect([...new Set(absent)].toSorted()).toEqual(SETTINGS_NOT_SERVED.toSorted());
    const claimed = rows.filter(({ requirement, status }) =>
      SETTINGS_NOT_SERVED.some((name) => requirement.includes(name) && status !== 'not served'),
    );
    expect(claimed).toEqual([]);
  });

  it('names existing endpoints and metrics', () => {
    const routes = new Set(
      [...read('docs/http-api.md').matchAll(/^\| `(GET|POST) ([^`]+)` \|/gm)].map(
        ([, method, route]) => `${method} ${route}`,
      ),
    );
    const endpoints = named(/`((?:GET|POST) \/[^`\s]*)`/g);
    expect(endpoints.length).toBeGreaterThan(2);
    expect(endpoints.filter((name) => !routes.has(name))).toEqual([]);
    const known = new Set<string>(Object.values(ALL_METRICS).map(({ name }) => name));
    const metrics = named(/`(proxy_[a-z_]+)/g);
    expect(metrics.length).toBeGreaterThan(0);
    expect(metrics.filter((name) => !known.has(name))).toEqual([]);
  });
});
