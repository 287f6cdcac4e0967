import { readFileSync } from 'node:fs';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

import { contentProblems, sbomProblems, versionProblems } from '../../scripts/release/problems.ts';
import { reproducible } from '../../scripts/release/reproducible-sbom.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const versionIn = (file: string): string => (JSON.parse(read(file)) as { version: string }).version;

const changelog = (...headings: readonly string[]): string =>
  headings.map((heading) => `## ${heading}\n\n- x\n`).join('\n');

describe('a release', () => {
  it('has one version in the package, the lock file and the changelog', () => {
    const versions = { inPackage: versionIn('package.json'), inLock: versionIn('package-lock.json') };
    expect(versionProblems(versions, read('CHANGELOG.md'))).toEqual([]);
  });

  it.each([
    ['0.2.0', '0.2.0', changelog('[Unreleased]', '[0.2.0] - 2026-11-16', '[0.1.0] - 2026-11-01'), 0],
    ['0.2.0', '0.1.0', changelog('[0.2.0] - 2026-11-16'), 1],
    ['0.3.0', '0.3.0', changelog('[Unreleased]', '[0.2.0] - 2026-11-16'), 1],
    ['0.2.0', '0.2.0', changelog('[0.2.0]'), 1],
    ['0.2.0', '0.2.0', changelog('[0.2.0] - 2026-13-16'), 1],
    ['0.2.0', '0.2.0', '', 2],
  ])('of package %s, lock %s', (inPackage, inLock, text, problems) => {
    expect(versionProblems({ inPackage, inLock }, text)).toHaveLength(problems);
  });

  it('contains what users need, and nothing else', () => {
    const files = [
      'package.json',
      'README.md',
      'LICENSE',
      'SECURITY.md',
      'CHANGELOG.md',
      'bin/codex-app-server-proxy.js',
      'dist/main.js',
      'dist/sbom.json',
      'console/dist/index.html',
      'console/dist/assets/index-a1.js',
      'dist/openai/shared/sse.js',
      'docs/configuration.md',
      'docs/config.schema.json',
      'docs/operating.md',
      'examples/curl.sh',
    ];
    expect(contentProblems(files)).toEqual([]);
    expect(contentProblems(files.slice(1))).toEqual(['The package has no package.json.']);
    const odd = [
      'dist/main.js.map',
      'dist/a.test.js',
      'src/main.ts',
      'shared/x.md',
      'docs/test/x.md',
      '.env',
    ];
    expect(contentProblems([...files, ...odd])).toHaveLength(odd.length);
  });

  it('has an SBOM that is the same on every machine', () => {
    const component = (download: string) => ({
      name: 'clone-of-mine',
      version: '1.0.0',
      purl: 'pkg:npm/%40scope/name@1.0.0',
      externalReferences: [
        { type: 'distribution', url: download },
        { type: 'website', url: 'http://cyclonedx.org/site' },
      ],
    });
    const made = (id: string): string =>
      JSON.stringify({
        bomFormat: 'CycloneDX',
        serialNumber: id,
        metadata: {
          timestamp: id,
          tools: [{ version: id }],
          component: component(`https://${id}.example/x`),
        },
        components: [component(`https://${id}.example/y`)],
      });
    const sbom = reproducible(made('a'));
    expect(sbom).toBe(reproducible(made('b')));
    expect(JSON.parse(sbom)).toMatchObject({ metadata: { component: { name: '%40scope/name' } } });
    expect(sbomProblems(sbom, '1.0.0')).toEqual([]);
    expect(sbomProblems(sbom, '2.0.0')).toHaveLength(1);
    expect(sbomProblems(made('a'), '1.0.0')).toEqual(['The SBOM names the host a.example.']);
  });

  it('is tested with the Node that the clone brings, by the command of the README', () => {
    const { devDependencies } = JSON.parse(read('package.json')) as {
      devDependencies: Readonly<Record<string, string>>;
    };
    expect(read('.node-version').trim()).toBe(devDependencies['node']);
    expect(read('.github/workflows/ci.yml')).toContain('- run: npm ci && npm test\n');
  });
});
