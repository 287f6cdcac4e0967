import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { answer } from '../../src/demo/answer.ts';
import { textIn, type JsonObject } from '../../src/kit/json/json.ts';
import { objectsIn, sentBody } from '../conformance/responses-sent.ts';
import { mcpFiles } from '../support/mcp/config-file.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello, says } from '../support/scripts.ts';

/** Commands, searches and reviews in workspaces, over HTTP and with the real app-server. */

const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'workspace-routes-')));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const folder = (name: string): string => {
  const made = path.join(root, name);
  mkdirSync(made, { recursive: true });
  return made;
};
const [web, docs, fresh] = ['web', 'docs', 'fresh'].map(folder) as [string, string, string];
const write = (name: string, text: string): void => writeFileSync(path.join(web, name), text);
const git = (...words: readonly string[]): string =>
  execFileSync('git', ['-c', 'user.name=n', '-c', 'user.email=n@example.com', ...words], {
    cwd: web,
    encoding: 'utf8',
  });

git('init', '-q', '-b', 'main');
write('a.txt', 'one\n');
git('add', '.');
git('commit', '-qm', 'first');
git('checkout', '-qb', 'topic');
write('a.txt', 'one\ntwo\n');
git('commit', '-qam', 'second');
const second = git('rev-parse', 'HEAD').trim();
write('a.txt', 'one\ntwo\nthree\n');
write('-new größe.txt', 'brand new\n');
symlinkSync('/etc/hostname', path.join(web, 'link'));

const proxy = await openProxy(hello, {
  PROXY_MCP_CONFIG: mcpFiles().write({
    web: { workspace: web },
    docs: { workspace: docs, access: 'read' },
    fresh: { workspace: fresh },
  }),
});

const WEB = '/v1/codex/workspaces/web';
const answerTo = async (asked: Response | Promise<Response>): Promise<readonly [number, JsonObject]> => {
  const response = await asked;
  return [response.status, (await response.json()) as JsonObject];
};
const exec = (body: JsonObject, name = 'web') =>
  answerTo(proxy.post(`/v1/codex/workspaces/${name}/exec`, body));
const errorOf = ([status, { error }]: readonly [number, JsonObject]) => {
  const { code, param } = error as { readonly code: string; readonly param: string | null };
  return `${status} ${code} ${param}`;
};

const keyWith = async (fields: object): Promise<(at: string, body?: object) => Promise<Response>> => {
  const [, made] = await answerTo(proxy.post('/v1/codex/keys', { name: 'a', scopes: ['infer'], ...fields }));
  return (at, body) =>
    fetch(proxy.url + at, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${textIn(made, 'key')}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
};

describe('a command', () => {
  it('runs in the sandbox', async () => {
    const command = ['sh', '-c', 'cat a.txt; echo bad >&2; touch made; exit 3'];
    expect(await exec({ command, shell: true })).toEqual([
      200,
      {
        object: 'codex.command',
        workspace: 'web',
        exit_code: 3,
        timed_out: false,
        stdout: 'one\ntwo\nthree\n',
        stdout_truncated: false,
        stderr: 'bad\n',
        stderr_truncated: false,
      },
    ]);
    expect(readFileSync(path.join(web, 'made'), 'utf8')).toBe('');
    rmSync(path.join(web, 'made'));
  });

  it('has limits of time and output, and may have less access', async () => {
    const command = ['sh', '-c', 'head -c 3000000 /dev/zero | tr "\\\\0" x; touch made; sleep 300'];
    const [status, body] = await exec({ command, timeout_ms: 3_000, access: 'read' });
    expect([status, body]).toMatchObject([200, { timed_out: true, stdout_truncated: true }]);
    expect(body['stdout']).toHaveLength(1024 * 1024);
    expect(() => readFileSync(path.join(web, 'made'))).toThrow('ENOENT');
  });

  it('takes a place of the workspace if it may change something', async () => {
    const slow = exec({ command: ['sh', '-c', 'until [ -e go ]; do sleep 0.1; done'] });
    const runs = async () => {
      const [, { data }] = await answerTo(proxy.get('/v1/codex/workspaces'));
      return (data as readonly JsonObject[])[0]?.['runs'];
    };
    await expect.poll(runs, { timeout: 20_000 }).toEqual({ active: 1, max: 1 });
    expect(errorOf(await exec({ command: ['true'] }))).toBe('429 workspace_busy null');
    expect((await exec({ command: ['true'], access: 'read' }))[0]).toBe(200);
    write('go', '');
    expect((await slow)[1]).toMatchObject({ exit_code: 0 });
    rmSync(path.join(web, 'go'));
    const metrics = await (await proxy.get('/metrics')).text();
    expect(metrics).toContain('proxy_workspace_runs_active{workspace="web"} 0');
    expect(metrics).toMatch(
      /proxy_workspace_calls_total\{workspace="web",tool="command\/exec",outcome="completed"\} [1-9]/,
    );
  });

  it.each([
    [{}, 'missing_required_parameter command'],
    [{ command: 'ls' }, 'invalid_type command'],
    [{ command: [] }, 'missing_required_parameter command[0]'],
    [{ command: [''] }, 'string_below_min_length command[0]'],
    [{ command: ['ls', 'a\u0000'] }, 'invalid_value command[1]'],
    [{ command: ['ls'], timeout_ms: 600_001 }, 'integer_above_max_value timeout_ms'],
    [{ command: ['ls'], cwd: '../docs' }, 'invalid_value cwd'],
    [{ command: ['ls'], access: 'all' }, 'invalid_value access'],
  ])('is checked: %j', async (body, expected) => {
    expect(errorOf(await exec(body))).toBe(`400 ${expected}`);
  });

  it('has a limited length', async () => {
    for (const arguments_ of [
      Array.from({ length: 1_000 }, () => 'a'),
      ['x'.repeat(60_000), 'x'.repeat(60_000)],
    ])
      expect(errorOf(await exec({ command: ['ls', ...arguments_] }))).toBe('400 invalid_value command');
  });

  it('cannot have more access than its workspace', async () => {
    expect(errorOf(await exec({ command: ['ls'], access: 'write' }, 'docs'))).toBe(
      '400 invalid_value access',
    );
    expect((await exec({ command: ['ls'] }, 'docs'))[0]).toBe(200);
  });
});

describe('a search', () => {
  it('finds files by parts of their names', async () => {
    expect(await answerTo(proxy.get(`${WEB}/files?query=atxt&limit=1`))).toEqual([
      200,
      {
        object: 'list',
        data: [{ object: 'codex.file', path: 'a.txt', type: 'file', score: expect.any(Number) }],
        has_more: false,
      },
    ]);
    expect(errorOf(await answerTo(proxy.get(`${WEB}/files`)))).toBe('400 missing_required_parameter query');
    expect(errorOf(await answerTo(proxy.get(`${WEB}/files?query=a&limit=0`)))).toMatch(/^400 .* limit$/);
  });
});

describe('a key', () => {
  it('sees only what it may use', async () => {
    const send = await keyWith({ workspaces: ['docs'] });
    expect(await answerTo(send('/v1/codex/workspaces'))).toMatchObject([
      200,
      { data: [{ id: 'docs', object: 'codex.workspace', status: 'connected', access: 'read' }] },
    ]);
    const unknown = '400 unknown_workspace';
    expect(errorOf(await answerTo(send(`${WEB}/exec`, { command: ['ls'] })))).toBe(`${unknown} name`);
    expect(errorOf(await answerTo(send(`${WEB}/files?query=a`)))).toBe(`${unknown} name`);
    expect(errorOf(await answerTo(send('/v1/codex/workspaces/nix/exec', { command: ['ls'] })))).toBe(
      `${unknown} name`,
    );
    const review = { workspace: 'web', target: { type: 'uncommittedChanges' } };
    expect(errorOf(await answerTo(send('/v1/codex/reviews', review)))).toBe(`${unknown} workspace`);
  });

  it('needs the scope of its models', async () => {
    const send = await keyWith({ scopes: ['read'], workspaces: ['*'] });
    expect((await send(`${WEB}/exec`, { command: ['ls'] })).status).toBe(403);
  });
});

describe('a run', () => {
  it('is counted, and known to the request log', async () => {
    proxy.use(({ body }, connection) => {
      const heard = JSON.stringify(body['input']).includes('call_output');
      const command = heard ? 'touch b' : 'echo a';
      const call = { name: 'exec_command', arguments: { cmd: command }, callId: heard ? 'c2' : 'c1' };
      return answer(connection, [{ call }]);
    });
    const tools = [{ type: 'mcp', server_label: 'fresh', require_approval: 'never' }];
    const waiting = [{ type: 'mcp', server_label: 'fresh', require_approval: 'always' }];
    const first = await answerTo(
      proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'Go.', tools, max_tool_calls: 1 }),
    );
    expect(first).toMatchObject([200, { status: 'incomplete' }]);
    const asked = await answerTo(
      proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'Go.', tools: waiting }),
    );
    expect(asked).toMatchObject([200, { status: 'completed' }]);
    const recorded = async () => {
      const [, { data }] = await answerTo(proxy.get('/v1/codex/requests?limit=2&q=resp_'));
      return (data as readonly JsonObject[]).map(({ run }) => run);
    };
    await expect.poll(recorded, { timeout: 20_000 }).toEqual([
      { workspace: 'fresh', calls: 0, waits: true },
      { workspace: 'fresh', calls: 1, waits: false },
    ]);
    const metrics = await (await proxy.get('/metrics')).text();
    for (const line of [
      'proxy_workspace_runs_total{workspace="fresh",outcome="incomplete"} 1',
      'proxy_workspace_runs_total{workspace="fresh",outcome="waiting"} 1',
      'proxy_workspace_calls_total{workspace="fresh",tool="exec_command",outcome="completed"} 1',
      'proxy_workspace_approvals_total{workspace="fresh",decision="asked"} 1',
      'proxy_workspace_run_seconds_count 2',
      'proxy_workspace_runs_active{workspace="fresh"} 0',
    ])
      expect(metrics).toContain(line);
  });
});

describe('a review', () => {
  const review = (target: JsonObject, more: JsonObject = {}) =>
    answerTo(proxy.post('/v1/codex/reviews', { workspace: 'web', target, ...more }));
  const reviewed = async (target: JsonObject, more: JsonObject = {}): Promise<string> => {
    proxy.use(says([{ text: '{"findings":[],"overall_explanation":"Fine."}' }]));
    expect(await review(target, more)).toMatchObject([200, { object: 'codex.review', review: 'Fine.' }]);
    const last = objectsIn(sentBody(proxy.model)['input']).at(-1);
    return JSON.parse(JSON.stringify(last?.['content']))
      .map(({ text }: JsonObject) => text)
      .join('');
  };

  it('is about uncommitted changes, with new files', async () => {
    const text = await reviewed({ type: 'uncommittedChanges' }, { instructions: 'Be kind.' });
    expect(text).toMatch(/^Be kind\.\n\nReview these uncommitted changes/);
    expect(text).toContain(' two\n+three\n');
    expect(text).toContain('b/-new größe.txt');
    expect(text).toContain('+brand new');
    // A link is text: what it leads to is not read.
    expect(text).toContain('+/etc/hostname');
  });

  it('is about what a branch has not', async () => {
    const text = await reviewed({ type: 'baseBranch', branch: 'main' });
    expect(text).toContain('+two\n+three');
    expect(text).not.toContain('brand new');
  });

  it('is about a commit', async () => {
    const text = await reviewed({ type: 'commit', sha: second.slice(0, 12) });
    expect(text).toContain(`commit ${second}`);
    expect(text).toContain('+two');
    expect(text).not.toContain('+three');
  });

  it.each([
    [{ type: 'baseBranch', branch: 'nix' }, 'workspace'],
    [{ type: 'baseBranch', branch: '--output=x' }, 'target.branch'],
    [{ type: 'commit', sha: 'abcdef0' }, 'workspace'],
  ])('needs changes: %j', async (target, param) => {
    expect(errorOf(await review(target))).toBe(`400 invalid_value ${param}`);
  });

  it('needs a repository with a change that is not too large', async () => {
    const target = { type: 'uncommittedChanges' };
    const none = await review(target, { workspace: 'fresh' });
    expect([errorOf(none), JSON.stringify(none)]).toEqual([
      '400 invalid_value workspace',
      expect.stringContaining('not a git repository'),
    ]);
    execFileSync('git', ['init', '-q'], { cwd: fresh });
    expect(errorOf(await review(target, { workspace: 'fresh' }))).toBe('400 invalid_value target');
    writeFileSync(path.join(fresh, 'staged.txt'), 'staged\n');
    execFileSync('git', ['add', '.'], { cwd: fresh });
    expect(await reviewed(target, { workspace: 'fresh' })).toContain('+staged');
    writeFileSync(path.join(fresh, 'large.txt'), 'large '.repeat(200_000));
    expect(JSON.stringify(await review(target, { workspace: 'fresh' }))).toContain('more than 1 MiB');
  });
});
