import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { ServiceDefinition } from './task.ts';
import { launchdAgent, readLaunchdAgent, readSystemdUnit, systemdUnit } from './manager.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'service-files-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const ODD: ServiceDefinition = {
  node: '/opt/50% off/node $1/bin/node',
  script: `/home/ann lee's/a "b" \\c/100%/$HOME/<x>&y.js`,
  variables: { PORT: '4000', PROXY_STATE_DIR: `/srv/a "b" \\ 5% $x <&> 'c'=d` },
  stopSeconds: 45,
};

const odd = fc.string({ unit: fc.constantFrom('a', '/', ...` $%"'\\<>&;=~#`.split('')) });
const definitions: fc.Arbitrary<ServiceDefinition> = fc
  .tuple(odd, odd, fc.dictionary(fc.constantFrom('PORT', 'CODEX_HOME', 'no_proxy'), odd))
  .map(([node, script, variables]) => ({ node, script, variables: { ...variables }, stopSeconds: 1 }));

const readBack = ({ node, script, variables }: ServiceDefinition) => ({
  command: [node, script],
  variables,
});

describe('a systemd unit', () => {
  it('quotes spaces, percent signs, dollars, quotes and backslashes', () => {
    expect(systemdUnit(ODD).split('\n')).toEqual([
      '# Written by codex-app-server-proxy service install; service uninstall removes it.',
      '[Unit]',
      'Description=OpenAI-compatible API in front of codex app-server',
      'StartLimitIntervalSec=300',
      'StartLimitBurst=10',
      '',
      '[Service]',
      'Type=exec',
      String.raw`ExecStart="/opt/50%% off/node $1/bin/node" "/home/ann lee's/a \"b\" \\c/100%%/$$HOME/<x>&y.js"`,
      'Environment="PORT=4000"',
      String.raw`Environment="PROXY_STATE_DIR=/srv/a \"b\" \\ 5%% $x <&> 'c'=d"`,
      'Restart=on-failure',
      'RestartSec=5',
      'KillMode=mixed',
      'TimeoutStopSec=45',
      '',
      '[Install]',
      'WantedBy=default.target',
      '',
    ]);
  });

  it('is read back as it was written', () => {
    fc.assert(
      fc.property(definitions, (definition) => {
        expect(readSystemdUnit(systemdUnit(definition))).toEqual(readBack(definition));
      }),
    );
    expect(readSystemdUnit('[Service]\nExecStart=/bin/true\n')).toEqual({ command: [], variables: {} });
  });

  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

  it.skipIf(!hasSystemd)('is accepted by systemd', { meta: { needs: 'systemd-analyze' } }, () => {
    const node = path.join(directory, 'a b%c$d', 'node');
    mkdirSync(path.dirname(node));
    writeFileSync(node, '#!/bin/sh\n');
    chmodSync(node, 0o755);
    const unit = path.join(directory, 'codex-app-server-proxy.service');
    const verified = (definition: ServiceDefinition) => {
      writeFileSync(unit, systemdUnit(definition));
      const env = { ...process.env, XDG_RUNTIME_DIR: directory };
      const { status, stderr } = spawnSync('systemd-analyze', ['--user', 'verify', unit], { env });
      return { status, said: stderr.toString() };
    };
    expect(verified({ ...ODD, node })).toEqual({ status: 0, said: '' });
    // It finds mistakes.
    expect(verified({ ...ODD, node: `${node}2` })).toMatchObject({
      said: expect.stringContaining(`Command ${node}2 is not executable`),
    });
  });
});

/** An XML parser for property lists: throws if tags do not match, or if a text is not escaped. */
const parsePlist = (xml: string): unknown => {
  const tokens = [...xml.matchAll(/<(\/?)(\w+)(\/?)>|([^<]+)/g)].filter(
    ([, , tag, , text]) => tag !== undefined || text?.trim() !== '',
  );
  let at = 0;
  const take = () => {
    const token = tokens[at];
    at += 1;
    if (token === undefined) throw new Error('the text ends early');
    return { isEnd: token[1] === '/', tag: token[2], isEmpty: token[3] === '/', text: token[4] };
  };
  const textUntil = (tag: string): string => {
    const { text, isEnd, tag: ended } = take();
    if (text === undefined) {
      if (!isEnd || ended !== tag) throw new Error(`<${tag}> is not closed`);
      return '';
    }
    if (/&(?!amp;|lt;|gt;)/.test(text)) throw new Error(`not escaped: ${text}`);
    const end = take();
    if (!end.isEnd || end.tag !== tag) throw new Error(`<${tag}> is not closed`);
    return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
  };
  const value = (opened = take()): unknown => {
    const { tag } = opened;
    if (opened.isEmpty) return tag === 'true';
    if (tag === 'string') return textUntil('string');
    if (tag === 'integer') return Number(textUntil('integer'));
    const items: unknown[] = [];
    for (let next = take(); !(next.isEnd && next.tag === tag); next = take()) {
      if (tag === 'array') items.push(value(next));
      else if (tag === 'dict' && next.tag === 'key') items.push([textUntil('key'), value()]);
      else throw new Error(`<${next.tag}> in <${tag}>`);
    }
    return tag === 'array' ? items : Object.fromEntries(items as [string, unknown][]);
  };
  return value();
};

describe('a launchd agent', () => {
  const places = { home: '/Users/ann', log: '/Users/ann/Library/Logs/codex-app-server-proxy.log' };

  it('is a property list with escaped texts', () => {
    const [declaration, marker, doctype, plist, ...rest] = launchdAgent(ODD, places).split('\n');
    expect([declaration, marker, doctype, plist]).toEqual([
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<!-- Written by codex-app-server-proxy service install; service uninstall removes it. -->',
      '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
      '<plist version="1.0">',
    ]);
    expect(rest.slice(-2)).toEqual(['</plist>', '']);
    expect(parsePlist(rest.slice(0, -2).join('\n'))).toEqual({
      Label: 'codex-app-server-proxy',
      ProgramArguments: [ODD.node, ODD.script],
      EnvironmentVariables: ODD.variables,
      WorkingDirectory: places.home,
      RunAtLoad: true,
      KeepAlive: { SuccessfulExit: false },
      ThrottleInterval: 10,
      ExitTimeOut: 45,
      StandardOutPath: places.log,
      StandardErrorPath: places.log,
    });
  });

  it('is read back as it was written', () => {
    fc.assert(
      fc.property(definitions, (definition) => {
        expect(readLaunchdAgent(launchdAgent(definition, places))).toEqual(readBack(definition));
      }),
    );
  });

  const hasPython = spawnSync('python3', ['--version']).status === 0;

  it.skipIf(!hasPython)("is accepted by Python's plistlib", { meta: { needs: 'python3' } }, () => {
    const script = 'import plistlib,sys,json; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))';
    const out = execFileSync('python3', ['-c', script], { input: launchdAgent(ODD, places) });
    expect(JSON.parse(out.toString())).toMatchObject({
      ProgramArguments: [ODD.node, ODD.script],
      EnvironmentVariables: ODD.variables,
      KeepAlive: { SuccessfulExit: false },
    });
  });
});
