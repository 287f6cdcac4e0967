import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { SETTINGS } from '../../src/config/schema.ts';
import { METRICS } from '../../src/observe/metrics.ts';
import { SETTINGS_NOT_SERVED } from './settings-not-served.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

const COUNT = 214;
const STATUSES = new Set(['served', 'otherwise', 'not served']);

interface Row {
  readonly number: number;
  readonly requirement: string;
  readonly status: string;
  readonly where: string;
}

const page = read('docs/requirements.md');

const rows = [...page.matchAll(/^\| (\d+) \| (.+?) \| (.+?) \| (.+) \|$/gm)].map(
  ([, number = '', requirement = '', status = '', where = '']): Row => ({
    number: Number(number),
    requirement,
    status,
    where,
  }),
);

/** Every match of a pattern in the page. */
const named = (pattern: RegExp): string[] => [...page.matchAll(pattern)].map(([, name = '']) => name);

describe('the requirements page', () => {
  it('has every number once, in order', () => {
    expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: COUNT }, (_, index) => index + 1));
  });

  it('states for each requirement whether it is served', () => {
    expect(rows.filter(({ status }) => !STATUSES.has(status))).toEqual([]);
  });

  it('names a file, a setting, an endpoint or a page for each served requirement', () => {
    const proof = /`(?:src|test|scripts)\/|`PROXY_|`(?:GET|POST) \/|`npm run |\]\(/;
    const served = rows.filter(({ status }) => status !== 'not served');
    expect(served.filter(({ where }) => !proof.test(where)).map(({ number }) => number)).toEqual([]);
  });

  it('explains at its beginning every requirement that is not served, by number', () => {
    const [, summary = ''] = /## What is not served\n(.+?)\n## /su.exec(page) ?? [];
    const explained = new Set(
      [...summary.matchAll(/^\| .+? \| ([\d, ]+) \| /gm)].flatMap(([, list = '']) =>
        list.split(', ').map(Number),
      ),
    );
    const missing = rows
      .filter(({ status, number }) => status === 'not served' && !explained.has(number))
      .map(({ number }) => number);
    expect(missing).toEqual([]);
  });

  it('names existing files, each with its name', () => {
    const files = named(/`((?:src|test|scripts|docs)\/[^`\s]+)`/g);
    expect(files.length).toBeGreaterThan(200);
    expect(files.filter((file) => !existsSync(path.join(ROOT, file)))).toEqual([]);
  });

  it('names existing settings, or states that they are not served', () => {
    const settings = named(/\b(PROXY_[A-Z_]*[A-Z])\b/g);
    expect(settings.length).toBeGreaterThan(20);
    const absent = settings.filter((name) => !Object.hasOwn(SETTINGS, name));
    expect([...new Set(absent)].toSorted()).toEqual(SETTINGS_NOT_SERVED.toSorted());
    const claimed = rows.filter(({ requirement, status }) =>
      SETTINGS_NOT_SERVED.some((name) => requirement.includes(name) && status !== 'not served'),
    );
    expect(claimed).toEqual([]);
  });

  it('names existing endpoints and metrics', () => {
    const routes = new Set(
      [...read('docs/http-api.md').matchAll(/^\| (GET|POST) \| `([^`]+)` \|/gm)].map(
        ([, method, route]) => `${method} ${route}`,
      ),
    );
    const endpoints = named(/`((?:GET|POST) \/[^`\s]*)`/g);
    expect(endpoints.length).toBeGreaterThan(10);
    expect(endpoints.filter((name) => !routes.has(name))).toEqual([]);
    const known = new Set<string>(Object.values(METRICS).map(({ name }) => name));
    const metrics = named(/`(proxy_[a-z_]+)/g);
    expect(metrics.length).toBeGreaterThan(6);
    expect(metrics.filter((name) => !known.has(name))).toEqual([]);
  });
});
