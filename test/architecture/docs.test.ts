import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { printPages, stalePages } from '../../scripts/docs.ts';
import { ALL_SETTINGS } from '../../src/compose/features.ts';
import { SETTINGS_NOT_SERVED } from './settings-not-served.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

const pages = ['*.md', '.github/*.md', 'docs/**/*.md', 'examples/*.md']
  .flatMap((pattern) => globSync(pattern, { cwd: ROOT }))
  .map((file) => ({ file, text: read(file) }));

/** Every match of a pattern's first group, with its page. */
const mentions = (pattern: RegExp): readonly { readonly file: string; readonly name: string }[] =>
  pages.flatMap(({ file, text }) =>
    [...text.matchAll(pattern)].flatMap(([, name]) => (name === undefined ? [] : [{ file, name }])),
  );

const said = (list: readonly { readonly file: string; readonly name: string }[]): string[] =>
  list.map(({ file, name }) => `${file}: ${name}`);

describe('documents', () => {
  it('are found', () => {
    expect(pages.length).toBeGreaterThan(15);
    expect(mentions(/\]\(([^)\s]+)\)/g).length).toBeGreaterThan(30);
  });

  it('are few enough to be kept true', () => {
    // What was released does not change any more.
    const kept = pages.filter(({ file }) => file !== 'CHANGELOG.md');
    const words = kept.reduce((sum, { text }) => sum + text.trim().split(/\s+/).length, 0);
    expect(
      words,
      'All pages but the changelog together have at most 70,000 words. Merge what two pages say, or delete what no reader opens; git has it.',
    ).toBeLessThanOrEqual(70_000);
  });

  it('are up to date if they are generated', async () => {
    expect(await stalePages(printPages()), 'Generated pages are stale: run `npm run docs:update`.').toEqual(
      [],
    );
  });

  it('link to pages and headings that exist', () => {
    const slugs = (text: string): string[] =>
      [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
        heading
          .toLowerCase()
          .replaceAll(/[^\w\- ]/g, '')
          .replaceAll(' ', '-'),
      );
    const broken = mentions(/\]\(([^)\s]+)\)/g).filter(({ file, name }) => {
      if (/^[a-z]+:/.test(name)) return false;
      const [target = '', anchor] = name.split('#');
      const linked = target === '' ? file : path.join(path.dirname(file), target);
      if (!existsSync(path.join(ROOT, linked))) return true;
      return anchor !== undefined && !slugs(read(linked)).includes(anchor);
    });
    expect(said(broken), 'Links lead to a page and a heading that exist: correct the link.').toEqual([]);
  });

  it('list every client page in the index of clients', () => {
    const rows = read('docs/clients/README.md').matchAll(/^\| \[[^\]]+\]\(([\w-]+\.md)\)/gm);
    const listed = new Set([...rows].map(([, name]) => name));
    const written = globSync('*.md', { cwd: path.join(ROOT, 'docs/clients') });
    expect(
      listed,
      'Every page of a client has a row in docs/clients/README.md: add or remove the row.',
    ).toEqual(new Set(written.filter((name) => name !== 'README.md')));
  });

  it('name files, scripts and settings that exist', () => {
    const files = mentions(/`((?:src|test|scripts|docs)\/[\w./-]+)`/g);
    expect(files.length).toBeGreaterThan(40);
    expect(
      said(files.filter(({ name }) => !existsSync(path.join(ROOT, name)))),
      'Pages name files that exist: write the new path.',
    ).toEqual([]);
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const runs = mentions(/\bnpm run ([\w:]+)/g);
    expect(
      said(runs.filter(({ name }) => !Object.hasOwn(scripts, name))),
      'Pages name npm scripts that exist: correct the name.',
    ).toEqual([]);
    const settings = mentions(/\b(PROXY_[A-Z_]*[A-Z])\b/g).filter(({ file, name }) => {
      const isExplained = file === 'docs/requirements.md' && SETTINGS_NOT_SERVED.includes(name);
      return !Object.hasOwn(ALL_SETTINGS, name) && !isExplained;
    });
    expect(said(settings), 'Pages name settings that exist: correct the name.').toEqual([]);
  });

  it('show the whole tree and nothing else', () => {
    const [, section = ''] = /## The tree\n(.+?)\n## /su.exec(read('docs/architecture.md')) ?? [];
    const names = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
    const shown = [...section.matchAll(/^\| (`[^|]+) \|([^|]*)\|/gm)].flatMap(
      ([, first = '', inside = '']) => {
        const rows = names(first);
        return [...rows, ...names(inside).map((name) => `${rows[0]}/${name}`)];
      },
    );
    const folders = (pattern: string): string[] =>
      globSync(pattern, { cwd: ROOT, withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name)))
        .filter((folder) => !folder.includes('generated'));
    const modules = globSync('src/*.ts', { cwd: ROOT }).filter((file) => !file.endsWith('.test.ts'));
    const others = ['bin', 'bench', 'console', 'console/src', 'deploy', 'examples', 'scripts', 'src', 'test'];
    const tree = [
      ...others,
      ...modules,
      ...folders('src/**/*'),
      ...folders('test/*'),
      ...folders('console/src/*'),
    ];
    expect(
      new Set(shown),
      'The tree in docs/architecture.md has a row for every folder: add or remove the row.',
    ).toEqual(new Set(tree));
  });

  it('describe every setting', () => {
    const described = mentions(/^\| `([A-Z_]+)`/gm).filter(({ file }) => file === 'docs/configuration.md');
    expect(described.map(({ name }) => name).toSorted()).toEqual(Object.keys(ALL_SETTINGS).toSorted());
  });

  it('begin with two commands that work on a fresh clone', () => {
    const lines = read('README.md').split('\n');
    expect(lines).toContain('npm ci && npm start');
    expect(lines).toContain('npm ci && npm test');
    expect(read('.ci/run').split('\n')).toContain('npm ci && npm test');
  });
});
