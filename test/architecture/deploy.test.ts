import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { ALL_SETTINGS } from '../../src/compose/features.ts';
import { buildContext } from '../../scripts/deploy/build-context.ts';
import { readDockerfile } from '../../scripts/deploy/dockerfile.ts';
import { SETTINGS } from '../../src/config/schema.ts';

/** What can be checked of `deploy` without Docker and systemd. `npm run deploy:check` replays the Dockerfile. */

const ROOT = path.join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const STATE = '/var/lib/codex-app-server-proxy';

describe('deploy/Dockerfile', () => {
  const stages = readDockerfile(read('deploy/Dockerfile'));
  const image = stages.at(-1);

  it('has the Node of this repository in every stage', () => {
    const version = read('.node-version').trim();
    expect(stages.map(({ name, base }) => [name, base])).toEqual([
      ['build', `node:${version}-bookworm`],
      ['packages', `node:${version}-bookworm-slim`],
      [null, `node:${version}-bookworm-slim`],
    ]);
  });

  it('copies what the package contains', () => {
    const { files } = JSON.parse(read('package.json')) as { files: readonly string[] };
    const copied = image?.steps.flatMap((step) =>
      step.kind === 'copy' && step.from === 'build'
        ? step.sources.filter((source) => source.startsWith('/app/')).map((source) => source.slice(5))
        : [],
    );
    // npm adds these three itself.
    const packed = [...files, 'package.json', 'README.md', 'LICENSE'].filter((file) => !file.startsWith('!'));
    expect(copied?.toSorted()).toEqual(packed.toSorted());
  });

  it('runs the server as another user than root, with its state in a volume and a health check', () => {
    expect({ ...image, steps: [], health: image?.health?.slice(0, 2) }).toEqual({
      name: null,
      base: expect.any(String),
      steps: [],
      env: {
        NODE_ENV: 'production',
        HOME: STATE,
        PROXY_STATE_DIR: STATE,
        PROXY_HOST: '0.0.0.0',
        PORT: SETTINGS.PORT.default,
      },
      user: '1000:1000',
      volumes: [STATE],
      ports: [SETTINGS.PORT.default],
      health: ['node', '-e'],
      entrypoint: ['node', 'bin/codex-app-server-proxy.js'],
      cmd: ['serve'],
    });
  });

  it('rejects instructions that the replay does not know', () => {
    expect(() => readDockerfile('FROM node\nADD x y\n')).toThrow('not known: ADD x y');
  });
});

describe('.dockerignore', () => {
  it('lets only the sources into the image', () => {
    const wanted = ['package.json', 'src/main.ts', 'scripts/clean.ts', 'console/index.html', 'docs/state.md'];
    const others = [
      '.env',
      '.npmrc',
      'deploy/.env',
      'node_modules/x/index.js',
      'console/dist/index.html',
      'src/cli/db.test.ts',
      'src/node_modules/x.js',
      'package.json.bak',
      'dist/main.js',
    ];
    expect(buildContext([...wanted, ...others], read('.dockerignore'))).toEqual(wanted);
  });
});

interface Service {
  readonly environment: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes: readonly string[];
  readonly [key: string]: unknown;
}

describe('deploy/compose.yaml', () => {
  const compose = parse(read('deploy/compose.yaml')) as {
    readonly services: Readonly<Record<string, Service>>;
    readonly volumes: Readonly<Record<string, null>>;
  };

  it.each(Object.entries(compose.services))('%s can write to its volume and to memory only', (_, service) => {
    expect(service).toMatchObject({
      read_only: true,
      tmpfs: expect.arrayContaining(['/tmp:mode=1777,size=64m']),
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      restart: 'unless-stopped',
    });
    const named = service.volumes.map((volume) => volume.split(':')[0]);
    expect(Object.keys(compose.volumes)).toEqual(expect.arrayContaining(named));
  });

  it('starts the server when PostgreSQL is healthy, on this machine only', () => {
    const { proxy, postgres } = compose.services;
    expect(proxy).toMatchObject({
      build: { context: '..', dockerfile: 'deploy/Dockerfile' },
      depends_on: { postgres: { condition: 'service_healthy' } },
      ports: ['127.0.0.1:11435:11435'],
      volumes: [`proxy-state:${STATE}`],
      init: true,
    });
    expect(postgres).toMatchObject({ user: 'postgres', healthcheck: { test: expect.any(Array) } });
    expect(postgres?.ports).toBeUndefined();
  });

  it('contains no secret, and only settings that exist', () => {
    const given = Object.values(compose.services).flatMap(({ environment }) => Object.entries(environment));
    for (const [name, value] of given) {
      if (/PASSWORD|KEY|TOKEN|_URL/.test(name)) expect(value).toContain('${POSTGRES_PASSWORD:?');
    }
    const settings = given.map(([name]) => name).filter((name) => name.startsWith('PROXY_'));
    expect(Object.keys(ALL_SETTINGS)).toEqual(expect.arrayContaining(settings));
  });
});

describe('deploy/codex-app-server-proxy.service', () => {
  const unit = read('deploy/codex-app-server-proxy.service');
  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
  const needs = { meta: { needs: 'systemd-analyze' } };

  it('has the program that the page installs', () => {
    const [, program] = /^ExecStart=(.+)$/m.exec(unit) ?? [];
    expect(program).toBe('/opt/codex-app-server-proxy/bin/codex-app-server-proxy');
    expect(read('docs/deployment.md')).toContain('npm install --global --prefix /opt/codex-app-server-proxy');
    expect(unit).not.toMatch(/^MemoryDenyWriteExecute=/m);
  });

  it.skipIf(!hasSystemd)('is accepted by systemd', needs, () => {
    const root = mkdtempSync(path.join(tmpdir(), 'deploy-unit-'));
    try {
      const program = path.join(root, 'program');
      writeFileSync(program, '#!/bin/sh\n');
      chmodSync(program, 0o755);
      const file = path.join(root, 'codex-app-server-proxy.service');
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, unit.replace(/^ExecStart=.*$/m, `ExecStart=${program}`));
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file]);
      expect({ status, said: stderr.toString() }).toEqual({ status: 0, said: '' });
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });

  it.skipIf(!hasSystemd)('is rated as well protected by systemd', needs, () => {
    const file = path.join(ROOT, 'deploy/codex-app-server-proxy.service');
    const { status, stdout } = spawnSync('systemd-analyze', [
      'security',
      '--offline=yes',
      '--threshold=20',
      '--no-pager',
      file,
    ]);
    expect([status, stdout.toString().split('\n').at(-2)]).toEqual([
      0,
      expect.stringContaining('Overall exposure level'),
    ]);
  });
});
