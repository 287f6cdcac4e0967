import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { startWorker } from '../../src/codex/worker/worker.ts';
import {
  command,
  folderOf,
  hasSandbox,
  openAgentScene,
  openPlace,
  patch,
  runCalls,
  runCommands,
  startAgent,
  type AgentScene,
} from '../support/agent-workers.ts';
import { until } from '../support/until.ts';

const never = new AbortController().signal;
const NEEDS_SANDBOX = { meta: { needs: 'user namespaces, for the sandbox of codex' } };
let scene: AgentScene;

const inside = (name: string): string => path.join(scene.workspace.path, name);
const read = (file: string): Promise<string | null> => readFile(file, 'utf8').catch(() => null);

/** What a command wrote, without codex's words around it. */
const outputOf = (heard: string | undefined): string => (heard ?? '').split('\nOutput:\n')[1]?.trim() ?? '';

/** The processes of this machine that name a text in their command line or environment. */
const processesNaming = async (text: string): Promise<readonly string[]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const named = await Promise.all(
    pids.map(async (pid) => {
      const files = ['cmdline', 'environ'].map((name) => readFile(`/proc/${pid}/${name}`).catch(() => null));
      return (await Promise.all(files)).some((content) => content?.includes(text) === true);
    }),
  );
  return pids.filter((_, index) => named[index]);
};

describe.skipIf(!hasSandbox)('the sandbox of a workspace', NEEDS_SANDBOX, () => {
  let outside: string;
  let other: string;
  const ports: number[] = [];
  const listener = createServer((socket) => socket.end('hello\n'));

  beforeAll(async () => {
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    ports.push((listener.address() as AddressInfo).port);
    scene = await openAgentScene({
      environment: { SECRET_X: 'leaked-secret', HOME: '/root' },
      workspace: async (root) => {
        await mkdir(path.join(root, 'cache'));
        await mkdir(path.join(root, 'tools'));
        return {
          env: { SHOP_TOKEN: 'of the workspace', PATH: `${root}/tools:/usr/bin:/bin` },
          hide: ['.env', 'missing/secret'],
          read: [path.join(root, 'tools')],
          write: [path.join(root, 'cache')],
        };
      },
      options: { secretPaths: ['/etc/hostname', '/etc/no-such-file'] },
    });
    outside = path.join(scene.root, 'srv', 'outside.txt');
    other = path.join(scene.root, 'srv', 'other');
    await mkdir(other);
    await writeFile(path.join(other, 'secret.txt'), 'other-secret');
    await writeFile(outside, 'outside');
    await writeFile(path.join(scene.stateDir, 'codex', 'auth.json'), 'login-secret');
    await writeFile(inside('.env'), 'env-secret');
    await symlink(outside, inside('link.txt'));
    await symlink(other, inside('linked'));
    await writeFile(path.join(scene.root, 'tools', 'hi'), '#!/bin/sh\necho from tools\n', { mode: 0o755 });
    execFileSync('git', ['init', '--quiet'], { cwd: scene.workspace.path });
  });
  afterAll(async () => {
    await scene.close();
    listener.close();
  });

  it('lets commands and patches work in the folder', async () => {
    const heard = await runCalls(scene, [
      command('write', 'mkdir -p deep/er && echo hi > deep/er/a.txt && cat deep/er/a.txt && rm -r deep'),
      patch('patch', '*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch\n'),
      command(
        'tools',
        'hi; echo "$SHOP_TOKEN"; command -v rg; echo x > ~/f && cat ~/f "$TMPDIR/f"; git status --short',
      ),
      command('cache', `echo y > ${scene.root}/cache/y && cat ${scene.root}/cache/y`),
    ]);
    expect([outputOf(heard['write']), heard['patch'], await read(inside('new.txt'))]).toEqual([
      'hi',
      expect.stringContaining('Success. Updated the following files:\nA new.txt'),
      'hello\n',
    ]);
    expect(outputOf(heard['tools']).split('\n').slice(0, 5)).toEqual([
      'from tools',
      'of the workspace',
      expect.stringMatching(/codex-path\/rg$/),
      'x',
      'x',
    ]);
    expect([outputOf(heard['cache']), await read(path.join(scene.root, 'cache', 'y'))]).toEqual(['y', 'y\n']);
    // What codex puts in the place of protected folders is gone.
    expect((await readdir(scene.workspace.path)).toSorted()).toEqual([
      '.env',
      '.git',
      'link.txt',
      'linked',
      'new.txt',
    ]);
  });

  it('lets nothing be written outside', async () => {
    const heard = await runCalls(scene, [
      command('absolute', `echo bad > ${outside}; echo $?`),
      command('parent', 'echo bad > ../outside.txt; echo $?'),
      command('link', 'echo bad > link.txt; echo $?'),
      command('linkedFolder', 'echo bad > linked/new.txt; echo $?'),
      command('workdir', 'echo bad > outside.txt; echo $?', { workdir: path.join(scene.root, 'srv') }),
      command('gitHook', 'echo bad > .git/hooks/pre-commit; echo $?'),
      command('system', 'echo bad > /etc/bad; echo bad > /usr/bad; echo $?'),
      patch('patch', `*** Begin Patch\n*** Add File: ../bad.txt\n+bad\n*** End Patch\n`),
      patch('patchLink', `*** Begin Patch\n*** Add File: linked/bad.txt\n+bad\n*** End Patch\n`),
      patch('patchOver', `*** Begin Patch\n*** Update File: link.txt\n@@\n-outside\n+bad\n*** End Patch\n`),
    ]);
    expect({
      file: await read(outside),
      next: (await readdir(path.join(scene.root, 'srv'))).toSorted(),
      other: await readdir(other),
      hooks: (await readdir(inside('.git/hooks'))).includes('pre-commit'),
      system: [await read('/etc/bad'), await read('/usr/bad')],
      patches: ['patch', 'patchLink', 'patchOver'].filter((id) => /Success/.test(heard[id] ?? '')),
    }).toEqual({
      file: 'outside',
      next: ['other', 'outside.txt', 'shop'],
      other: ['secret.txt'],
      hooks: false,
      system: [null, null],
      patches: [],
    });
  });

  it('lets no secret be read', async () => {
    const { stateDir, root } = scene;
    const heard = await runCommands(scene, {
      state: `cat ${stateDir}/codex/auth.json ${stateDir}/run/*/config.toml; ls ${stateDir}`,
      other: `cat ${other}/secret.txt linked/secret.txt link.txt; ls ${root}/srv`,
      home: 'ls -a /root /home; echo ~root/*',
      configuration: 'cat /etc/hostname',
      hidden: 'cat .env; cat "$PWD"/.e*',
      environment: "env; cat /proc/*/environ | tr '\\0' '\\n'",
      processes: 'ls /proc | grep -c "^[0-9]"; cat /proc/*/cmdline | grep -c app-server',
    });
    const all = Object.values(heard).join('\n');
    for (const secret of ['login-secret', 'other-secret', 'env-secret', 'leaked-secret', 'base_url'])
      expect(all).not.toContain(secret);
    expect(all).not.toContain(scene.workspace.label + '-proxy');
    expect(outputOf(heard['configuration'])).toMatch(/^$|denied|No such file/);
    expect(outputOf(heard['other']).split('\n').at(-1)).toBe('shop');
  });

  it('gives commands no way to this machine', async () => {
    const [port = 0] = ports;
    const connect = `timeout 5 bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port}; cat <&3'; echo $?`;
    const heard = await runCommands(scene, {
      loopback: connect,
      model: `timeout 5 bash -c 'exec 3<>/dev/tcp/127.0.0.1/${scene.model.port}'; echo $?`,
      curl: `curl -sS -m 5 http://127.0.0.1:${port}/ 2>&1; echo $?`,
    });
    expect(Object.values(heard).map((text) => text.includes('hello'))).toEqual([false, false, false]);
    expect(outputOf(heard['loopback'])).toMatch(/^[1-9]\d*$/m);
    expect(outputOf(heard['model'])).toMatch(/^[1-9]\d*$/m);
  });

  it('does not run a call that asks to leave the sandbox', async () => {
    const heard = await runCalls(scene, [
      command('leave', `echo bad > ${outside}`, {
        sandbox_permissions: 'require_escalated',
        justification: 'please',
      }),
    ]);
    expect([await read(outside), heard['leave']]).toEqual([
      'outside',
      expect.stringMatching(/reject|denied|declin/i),
    ]);
  });

  it('changes nothing with narrower access', async () => {
    const heard = await runCalls(
      scene,
      [
        command('write', `echo bad > bad.txt; echo bad > ${scene.root}/cache/bad; echo x > ~/f && cat ~/f`),
        patch('patch', '*** Begin Patch\n*** Add File: bad2.txt\n+bad\n*** End Patch\n'),
      ],
      'read',
    );
    expect([
      await read(inside('bad.txt')),
      await read(inside('bad2.txt')),
      await read(path.join(scene.root, 'cache', 'bad')),
      outputOf(heard['write']).split('\n').at(-1),
    ]).toEqual([null, null, null, 'x']);
  });
});

describe.skipIf(!hasSandbox)('the end of a run', NEEDS_SANDBOX, () => {
  beforeAll(async () => {
    scene = await openAgentScene();
  });
  afterAll(() => scene.close());

  /** Starts a command that stays, and ends the run when it has begun. */
  const leave = async (cmd: string) => {
    const place = await openPlace(scene);
    scene.model.play([command('stay', cmd)]);
    const agent = await startAgent(place);
    await until(async () => (await read(inside('begun'))) !== null);
    const folder = folderOf(place);
    return { place, agent, folder };
  };
  afterEach(() => rm(inside('begun'), { force: true }));

  it.each([
    ['in the foreground', 'touch begun; sleep 300'],
    ['in another session', 'setsid sleep 300 & touch begun; sleep 300'],
    ['that ignores signals', 'trap "" HUP TERM INT; nohup sleep 300 & touch begun; sleep 300'],
    ['whose parents have ended', '(setsid sh -c "sleep 300 & sleep 0.1" &) ; touch begun; sleep 300'],
    ['without any variable', 'touch begun; (env -i setsid sleep 271828 &) ; exec env -i sleep 271828'],
    [
      'of many that start each other',
      'for i in $(seq 60); do (sleep 300 & sleep 300) & done; touch begun; wait',
    ],
  ])('ends a command %s, and removes what is left', async (_, cmd) => {
    const { place, agent, folder } = await leave(cmd);
    expect(await processesNaming(folder)).not.toEqual([]);
    await place.close(agent);
    expect({
      processes: [...(await processesNaming(folder)), ...(await processesNaming('271828'))],
      folders: (await readdir(path.join(scene.stateDir, 'run'))).filter((name) => name.startsWith(folder)),
      workspace: (await readdir(scene.workspace.path)).filter((name) => name !== 'begun'),
      status: await agent.ended,
    }).toEqual({ processes: [], folders: [], workspace: [], status: 'interrupted' });
  });

  it('leaves nothing of a command that has run into the background', async () => {
    const place = await openPlace(scene);
    scene.model.play([command('stay', 'sleep 300', { yield_time_ms: 250 })]);
    const agent = await startAgent(place);
    expect(await agent.ended).toBe('completed');
    const folder = folderOf(place);
    expect(await processesNaming(folder)).not.toEqual([]);
    await place.close(agent);
    expect(await processesNaming(folder)).toEqual([]);
  });

  it('leaves nothing of commands that have just started', async () => {
    const ends: Promise<string>[] = [];
    for (let round = 0; round < 20; round += 1) {
      const place = await openPlace(scene);
      scene.model.play([command('stay', 'sleep 300')]);
      const agent = await startAgent(place);
      await until(() => agent.heard.filter((method) => method === 'item/started').length > 1);
      await sleep(round * 3);
      ends.push(place.close(agent).then(() => folderOf(place)));
    }
    const names = await Promise.all(ends);
    expect(new Set(names).size).toBe(20);
    for (const name of names) expect(await processesNaming(name)).toEqual([]);
    expect(await readdir(scene.workspace.path)).toEqual([]);
  });

  it.each([0, 400])(
    'leaves nothing if the app-server is killed %d ms after the start of a command',
    async (ms) => {
      const { place, agent, folder } = await leave('touch begun; sleep 300');
      await sleep(ms);
      const pids = await processesNaming(`${scene.stateDir}/run/home-`);
      for (const pid of pids) process.kill(Number(pid), 'SIGKILL');
      expect(await agent.ended).toBe('closed');
      expect(place.lost.aborted).toBe(true);
      await place.close(agent);
      expect(await processesNaming(folder)).toEqual([]);
      expect((await readdir(scene.workspace.path)).filter((name) => name !== 'begun')).toEqual([]);
      // The next run gets another app-server.
      expect(outputOf((await runCommands(scene, { next: 'echo hi' }))['next'])).toBe('hi');
    },
  );
});

describe.skipIf(!hasSandbox)('an app-server of agents', NEEDS_SANDBOX, () => {
  afterEach(() => scene.close());

  it('is killed if it does not answer at the end of a run', async () => {
    scene = await openAgentScene();
    const place = await openPlace(scene);
    scene.model.play([command('stay', 'touch begun; sleep 300')]);
    const agent = await startAgent(place);
    await until(async () => (await read(inside('begun'))) !== null);
    for (const pid of await processesNaming(`${scene.stateDir}/run/home-`))
      process.kill(Number(pid), 'SIGSTOP');
    await place.close(agent);
    expect([place.lost.aborted, await processesNaming(folderOf(place))]).toEqual([true, []]);
    expect(outputOf((await runCommands(scene, { next: 'echo hi' }))['next'])).toBe('hi');
  });

  it('that cannot be started is an error of the server, and the next run tries again', async () => {
    let starts = 0;
    scene = await openAgentScene({
      options: {
        start: (options) => {
          starts += 1;
          return starts === 1 ? Promise.reject(new Error('no memory')) : startWorker(options);
        },
      },
    });
    await expect(openPlace(scene)).rejects.toMatchObject({
      failure: { kind: 'worker_unavailable', status: 503 },
    });
    expect(outputOf((await runCommands(scene, { next: 'echo hi' }))['next'])).toBe('hi');
  });

  it('ends with the server, with all runs and what they have started', async () => {
    scene = await openAgentScene();
    const place = await openPlace(scene);
    scene.model.play([command('stay', 'touch begun; setsid sleep 300 & sleep 300')]);
    const agent = await startAgent(place);
    await until(async () => (await read(inside('begun'))) !== null);
    place.lost.addEventListener('abort', () => void place.close(agent));
    await scene.workers.drain(50);
    expect([await processesNaming(folderOf(place)), await readdir(path.join(scene.stateDir, 'run'))]).toEqual(
      [[], []],
    );
    await expect(openPlace(scene)).rejects.toMatchObject({ failure: { kind: 'shutting_down' } });
  });
});

describe.skipIf(!hasSandbox)('the network of a workspace', NEEDS_SANDBOX, () => {
  afterEach(() => scene.close());
  const connect = () =>
    runCommands(scene, {
      socket: `timeout 5 bash -c 'exec 3<>/dev/tcp/127.0.0.1/${scene.model.port}'; echo $?`,
    });

  it('is everything if it is `all`, also this machine', async () => {
    scene = await openAgentScene({ workspace: () => ({ network: 'all' }) });
    expect(outputOf((await connect())['socket'])).toBe('0');
  });

  it('is the named hosts, and never this machine, not even by name', async () => {
    scene = await openAgentScene({
      workspace: () => ({ network: ['127.0.0.1', 'localhost', '*.example.com'] }),
    });
    const { port } = scene.model;
    const heard = await runCommands(scene, {
      direct: `curl -sS -m 5 --noproxy '*' http://127.0.0.1:${port}/; echo $?`,
      proxied: `curl -sS -m 5 http://127.0.0.1:${port}/; echo $?`,
      named: `curl -sS -m 5 http://localhost:${port}/; echo $?`,
      other: 'curl -sS -m 5 http://other.example.org/; echo $?',
    });
    expect(outputOf((await connect())['socket'])).toMatch(/^[1-9]\d*$/m);
    expect(outputOf(heard['direct'])).toMatch(/^[1-9]\d*$/m);
    expect(scene.model.strangers).toEqual([]);
    expect(heard['other']).toMatch(/block/i);
  });
});

describe.skipIf(!hasSandbox)('workers of agents', NEEDS_SANDBOX, () => {
  afterEach(() => scene.close());

  it('do not obey the settings of a workspace, and start nothing for it', async () => {
    scene = await openAgentScene();
    const mark = path.join(scene.root, 'mark');
    // Of the folder above it, too.
    execFileSync('git', ['init', '--quiet'], { cwd: path.join(scene.root, 'srv') });
    for (const folder of [scene.workspace.path, path.join(scene.root, 'srv')]) {
      await mkdir(path.join(folder, '.codex'));
      await writeFile(
        path.join(folder, '.codex', 'config.toml'),
        [
          'sandbox_mode = "danger-full-access"',
          'default_permissions = ":danger-full-access"',
          '[shell_environment_policy]',
          'inherit = "all"',
          '[mcp_servers.bad]',
          'command = "sh"',
          `args = ["-c", "touch ${mark}"]`,
        ].join('\n'),
      );
    }
    await writeFile(inside('AGENTS.md'), 'Be kind.');
    const place = await openPlace(scene);
    expect(place.agentsMd).toBe('Be kind.');
    await place.close(null);
    const heard = await runCommands(scene, { out: `echo bad > ${mark}; env | grep -c CODEX_HOME` });
    expect([outputOf(heard['out']), await read(mark)]).toEqual(['0', null]);
    expect(JSON.stringify(scene.model.requests[0])).not.toContain('Be kind.');
  });

  it('start with the first run, and end when there were none for a while', async () => {
    scene = await openAgentScene({ options: { idleMs: 50 } });
    const homes = async (): Promise<number> =>
      (await readdir(path.join(scene.stateDir, 'run'))).filter((name) => /^home-\w+$/.test(name)).length;
    expect(await homes()).toBe(0);
    const place = await openPlace(scene);
    expect(await homes()).toBe(1);
    await sleep(200);
    expect(place.lost.aborted).toBe(false);
    await place.close(null);
    await until(async () => (await homes()) === 0);
    expect(outputOf((await runCommands(scene, { again: 'echo hi' }))['again'])).toBe('hi');
  });

  it('do not end during a run because one before it could not start', async () => {
    scene = await openAgentScene({
      workspace: async (root) => {
        await mkdir(path.join(root, 'srv/shop/a'));
        return { hide: ['a/b'] };
      },
      options: { idleMs: 400 },
    });
    await (await openPlace(scene)).close(null);
    await rm(inside('a'), { recursive: true });
    await writeFile(inside('a'), '');
    await expect(openPlace(scene)).rejects.toMatchObject({ failure: { kind: 'mcp_server_unavailable' } });
    await rm(inside('a'));
    const place = await openPlace(scene);
    await sleep(800);
    expect(place.lost.aborted).toBe(false);
    await place.close(null);
  });

  it('end what a killed server has left, before the next run', async () => {
    scene = await openAgentScene();
    const folder = path.join(scene.stateDir, 'run', 'agent-0123456789abcdef');
    await mkdir(folder);
    await mkdir(inside('.codex'));
    const left = spawn('sleep', ['300'], { env: { ...process.env, HOME: folder }, stdio: 'ignore' });
    const gone = once(left, 'exit');
    const again = await openAgentScene({
      options: { stateDir: scene.stateDir, workspaces: [scene.workspace] },
    });
    await (await again.workers.open({ workspace: null, access: 'read' }, never)).close(null);
    expect([await gone, await readdir(scene.workspace.path)]).toEqual([[null, 'SIGKILL'], []]);
    expect(
      (await readdir(path.join(scene.stateDir, 'run'))).filter((name) => name.startsWith('agent-01234')),
    ).toEqual([]);
    await again.close();
  });

  it('offer the model no tool that works without a workspace', async () => {
    scene = await openAgentScene();
    const place = await scene.workers.open({ workspace: null, access: 'read' }, never);
    scene.model.play([
      command('ls', 'ls'),
      patch('patch', '*** Begin Patch\n*** Add File: a\n+a\n*** End Patch\n'),
    ]);
    const agent = await startAgent(place);
    expect(await agent.ended).toBe('completed');
    await place.close(agent);
    const [first, second] = scene.model.requests;
    expect([
      (first?.['tools'] as readonly { readonly name: string }[] | undefined)?.map(({ name }) => name),
      second?.input.filter(({ output }) => output !== undefined).map(({ output }) => output),
    ]).toEqual([
      // A property of the model; the gateway does not pass it on.
      ['apply_patch'],
      ['unsupported call: exec_command', expect.stringContaining('No usable execution environment')],
    ]);
  });

  it('say that a workspace is gone', async () => {
    scene = await openAgentScene();
    await rm(scene.workspace.path, { recursive: true });
    await expect(openPlace(scene)).rejects.toMatchObject({
      failure: { kind: 'mcp_server_unavailable', status: 424, message: expect.stringContaining("'shop'") },
    });
  });
});
