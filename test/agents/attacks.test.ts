import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { mcpFiles } from '../support/mcp/config-file.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello, says } from '../support/scripts.ts';
import { until } from '../support/until.ts';
import {
  command,
  hasSandbox,
  openAgentScene,
  runCalls,
  runCommands,
  type AgentScene,
} from '../support/agent-workers.ts';

/** What a hostile model, repository or command tries. */

const NEEDS_SANDBOX = { meta: { needs: 'user namespaces, for the sandbox of codex' } };
let scene: AgentScene;

const inside = (name: string): string => path.join(scene.workspace.path, name);

describe.skipIf(!hasSandbox)('a hostile model', NEEDS_SANDBOX, () => {
  beforeAll(async () => {
    scene = await openAgentScene({
      workspace: () => ({
        hide: ['.env', 'conf/deep/secret.txt', 'keys/*.pem', 'linked/*.pem', 'missing/*.pem', 'missing/x/y'],
      }),
    });
    await mkdir(inside('conf/deep'), { recursive: true });
    await mkdir(inside('keys'));
    await mkdir(path.join(scene.root, 'srv', 'other'));
    await symlink(path.join(scene.root, 'srv', 'other'), inside('linked'));
    await writeFile(inside('.env'), 'SECRET-1');
    await writeFile(inside('conf/deep/secret.txt'), 'SECRET-2');
    await writeFile(inside('keys/a.pem'), 'SECRET-3');
  });
  afterAll(() => scene.close());

  it('does not read hidden files after it has moved the folders around them', async () => {
    const first = await runCommands(scene, {
      env: 'mv .env moved; ln .env linked; cat moved linked .env; mkdir -p d && mount --bind . d; cat d/.env',
      file: 'mv conf/deep/secret.txt x; cat x; mv conf/deep conf/other; cat conf/other/secret.txt; mv conf more; cat more/*/secret.txt',
      glob: 'mv keys open; cat open/a.pem; cat keys/a.pem',
    });
    await runCommands(scene, {
      link: 'echo bad > linked/bad; mkdir missing; echo ok > missing/ok; ls -la conf',
    });
    expect(await readdir(path.join(scene.root, 'srv', 'other'))).toEqual([]);
    const second = await runCommands(scene, { again: 'ls -laR . ; cat $(find . -type f)' });
    const heard = [...Object.values(first), ...Object.values(second)].join('\n');
    for (const secret of ['SECRET-1', 'SECRET-2', 'SECRET-3']) expect.soft(heard).not.toContain(secret);
    // What codex puts in the place of protected folders is gone.
    expect(await readdir(inside('conf'))).toEqual(['deep']);
    expect(await readdir(inside('conf/deep'))).toEqual(['secret.txt']);
  });

  it('does not leave the sandbox by other names of its arguments', async () => {
    const outside = path.join(scene.root, 'srv', 'bad.txt');
    const variants: Record<string, object> = {
      a: { with_escalated_permissions: true, justification: 'x' },
      b: { sandbox_permissions: 'require_escalated' },
      c: {
        sandbox_permissions: 'with_additional_permissions',
        additional_permissions: { file_system: { write: [path.join(scene.root, 'srv')] } },
      },
      d: { additional_permissions: { file_system: { write: [path.join(scene.root, 'srv')] } } },
      e: { sandboxPermissions: 'require_escalated' },
      f: { prefix_rule: ['bash'], sandbox_permissions: 'require_escalated', justification: 'y' },
      g: { shell: '/bin/sh', workdir: path.join(scene.root, 'srv') },
      h: { environment_id: 'local' },
    };
    const heard = await runCalls(
      scene,
      Object.entries(variants).map(([id, more]) =>
        command(id, `echo bad-${id} >> ${outside}; rm -rf /nonexistent; ls ${scene.root}/srv`, more as never),
      ),
    );
    expect(Object.keys(heard)).toHaveLength(Object.keys(variants).length);
    expect(await readFile(outside, 'utf8').catch(() => null)).toBe(null);
  });
});

describe.skipIf(!hasSandbox)('a hostile repository', NEEDS_SANDBOX, () => {
  it('does not become a way out by a link in the place of .git', async () => {
    scene = await openAgentScene({ workspace: () => ({ git: true }) });
    const outside = path.join(scene.root, 'srv', 'other');
    await mkdir(outside);
    await runCommands(scene, { nothing: 'ls -la' });
    // An empty one was ours.
    expect(await readdir(scene.workspace.path)).toEqual([]);
    const first = await runCalls(scene, [
      command('link', `ln -s ${outside} .git; mv .git git; rmdir .git; ln -s ${outside} .git; ls -la`),
      command('init', 'git init -q . && git commit -q --allow-empty -m x; git log | head -1'),
    ]);
    await runCommands(scene, { write: 'echo bad > .git/bad; rm -rf .git/*' });
    expect(first['init']).toMatch(/commit|identity/);
    expect(await readdir(outside)).toEqual([]);
    await rm(inside('.git'), { recursive: true });
    await symlink(outside, inside('.git'));
    await runCommands(scene, { write: 'echo bad > .git/bad' });
    expect(await readdir(outside)).toEqual([]);
    await scene.close();
  });
});

describe.skipIf(!hasSandbox)('a hostile command without a model', NEEDS_SANDBOX, () => {
  it('finds the same walls, also from one command to the next', async () => {
    scene = await openAgentScene({
      workspace: async (root) => {
        await mkdir(path.join(root, 'srv', 'shop', 'conf'));
        await writeFile(path.join(root, 'srv', 'shop', 'conf', 'secret.txt'), 'SECRET');
        return { git: true, hide: ['conf/secret.txt'] };
      },
    });
    const outside = path.join(scene.root, 'srv', 'other');
    await mkdir(outside);
    const run = async (line: string): Promise<string> => {
      const { stdout, stderr } = await scene.workers.exec(
        {
          workspace: scene.workspace,
          access: 'write',
          command: ['sh', '-c', line],
          timeoutMs: 20_000,
          maxOutputBytes: 10_000,
        },
        new AbortController().signal,
      );
      return stdout + stderr;
    };
    const heard = [
      await run(
        `mv conf open; rm -rf conf; ln -s ${outside} conf; rm -r .git; ln -s ${outside} .git; ls -la`,
      ),
      await run('echo bad > .git/bad; echo bad > conf/bad; cat open/* conf/*'),
    ];
    expect(heard.join('')).not.toContain('SECRET');
    expect(await readdir(outside)).toEqual([]);
    await rm(inside('.git'), { recursive: true, force: true });
    await symlink(outside, inside('.git'));
    await expect(run('echo bad > .git/bad')).rejects.toMatchObject({
      failure: { kind: 'mcp_server_unavailable' },
    });
    await rm(inside('.git'));
    await rm(inside('conf'), { recursive: true });
    await symlink(outside, inside('conf'));
    await expect(run('echo bad > conf/bad')).rejects.toMatchObject({
      failure: { kind: 'mcp_server_unavailable' },
    });
    expect(await readdir(outside)).toEqual([]);
    await scene.close();
  });
});

describe.skipIf(!hasSandbox)('a key', NEEDS_SANDBOX, async () => {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'attacks-')));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const proxy = await openProxy(hello, {
    PROXY_MCP_CONFIG: mcpFiles().write({ demo: { workspace: folder } }),
  });

  it('that is revoked asks no model any more, also not for a turn that runs', async () => {
    const made = await proxy.post('/v1/codex/keys', { name: 'a', workspaces: ['*'] });
    const { id: keyId, key } = (await made.json()) as { readonly id: string; readonly key: string };
    const counted = { requests: 0 };
    proxy.use((request, connection) => {
      counted.requests += 1;
      const call = { name: 'exec_command', arguments: { cmd: 'sleep 0.3' }, callId: `c${counted.requests}` };
      return says([{ call }])(request, connection);
    });
    const body = {
      model: 'gpt-5.5',
      input: 'Work for ever.',
      tools: [{ type: 'mcp', server_label: 'demo', require_approval: 'never' }],
    };
    const answering = proxy.post('/v1/responses', body, { headers: { authorization: `Bearer ${key}` } });
    await until(() => counted.requests >= 2);
    expect((await proxy.send(`/v1/codex/keys/${keyId}`, { method: 'DELETE' })).status).toBe(200);
    const { requests } = counted;
    const answer = await answering;
    expect(await answer.json()).toMatchObject({ error: { code: 'key_revoked' } });
    expect(counted.requests).toBeLessThanOrEqual(requests + 1);
  });

  it('cannot have several answers from a workspace, which would not be counted one by one', async () => {
    const counted = { requests: 0 };
    proxy.use((request, connection) => {
      counted.requests += 1;
      return hello(request, connection);
    });
    const answer = await proxy.post('/v1/chat/completions', {
      model: 'gpt-5.5',
      n: 2,
      messages: [{ role: 'user', content: 'Work.' }],
      tools: [{ type: 'mcp', server_label: 'demo', require_approval: 'never' }],
    });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { code: 'unsupported_value', param: 'tools' } });
    expect(counted.requests).toBe(0);
  });
});
