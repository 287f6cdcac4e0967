import { access, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { failure, gatewayError } from '../../src/canonical/failure/failure.ts';
import { ModelBudget } from '../../src/canonical/context/model-budget.ts';
import type { Message } from '../../src/canonical/request/item.ts';
import type { AgentEvent, ToolProgress } from '../../src/features/agents/run/port.ts';
import {
  functionCall,
  itemsOf,
  openRunsScene,
  outcomeOf,
  outputsOf,
  patches,
  runs,
  shapeOf,
  USAGE,
  type RunsScene,
} from '../support/agent-runs.ts';
import { functionTool, turnContext, turnRequest } from '../support/turn-request.ts';
import { until } from '../support/until.ts';

/** An image of one pixel. */
const DOT =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

let scene: RunsScene;
beforeAll(async () => {
  scene = await openRunsScene({ runs: 2 });
});
afterAll(() => scene.close());
afterEach(() => {
  expect(scene.bugs.splice(0)).toEqual([]);
  scene.refused.splice(0);
});

const fileIn = (name: string): Promise<string> => readFile(path.join(scene.workspace.path, name), 'utf8');
const write = (name: string): Promise<void> => writeFile(path.join(scene.workspace.path, name), '');
const hasFile = (name: string): Promise<boolean> =>
  access(path.join(scene.workspace.path, name)).then(
    () => true,
    () => false,
  );

const progressOf = (events: readonly AgentEvent[]): readonly ToolProgress['progress'][] =>
  events.flatMap((event) => (event.type === 'tool-progress' ? [event.progress] : []));

const commandEnd = (events: readonly AgentEvent[]) =>
  progressOf(events).findLast((progress) => progress.kind === 'command-ended');

const liveOf = (events: readonly AgentEvent[], itemId: string): readonly string[] =>
  events.flatMap((event) =>
    event.type === 'item-status' &&
    event.itemId === itemId &&
    typeof event.more?.['output_delta'] === 'string'
      ? [event.more['output_delta']]
      : [],
  );

const user = (text: string): Message => ({ kind: 'message', role: 'user', parts: [{ kind: 'text', text }] });

/** Processes with this text in their command line. */
const processesWith = async (text: string): Promise<readonly number[]> => {
  const found: number[] = [];
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry) || Number(entry) === process.pid) continue;
    const line = await readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '');
    if (line.replaceAll('\u0000', ' ').includes(text)) found.push(Number(entry));
  }
  return found;
};

describe('a run', () => {
  it('runs a command, and shows what the model hears of it', async () => {
    scene.engine.play([{ say: 'Look.' }, runs('c1', 'echo héllo; exit 7')]);
    const { ended } = await scene.start({ request: turnRequest({ instructions: 'Be brief.' }) });
    const events = await ended;
    const [, second] = scene.engine.requests;
    expect(second === undefined ? null : shapeOf(second)).toEqual([
      'developer',
      'developer',
      'user',
      'user',
      'assistant',
      'call exec_command',
      'output',
    ]);
    const heard = second?.items.at(-1);
    const output = heard?.kind === 'tool-output' ? heard.output : null;
    expect(output).toMatch(
      /^Chunk ID: \w+\nWall time: .*\nProcess exited with code 7\n.*\nOutput:\nhéllo\n$/,
    );
    expect(itemsOf(events)).toEqual([
      expect.objectContaining({ kind: 'message', parts: [{ kind: 'text', text: 'Look.' }] }),
      {
        kind: 'hosted-call',
        id: 'mcp_c1',
        modelCallId: 'c1',
        status: 'completed',
        raw: {
          type: 'mcp_call',
          status: 'completed',
          server_label: 'shop',
          name: 'exec_command',
          arguments: '{"cmd":"echo héllo; exit 7"}',
          output,
          error: null,
          approval_request_id: null,
        },
      },
      expect.objectContaining({ kind: 'message', parts: [{ kind: 'text', text: 'done' }] }),
    ]);
    expect(progressOf(events)).toEqual([
      { kind: 'command-started', command: "/bin/bash -lc 'echo héllo; exit 7'", cwd: scene.workspace.path },
      {
        kind: 'command-ended',
        status: 'failed',
        output: 'héllo\n',
        exitCode: 7,
        durationMs: expect.any(Number),
      },
    ]);
    expect(liveOf(events, 'mcp_c1').join('')).toBe('héllo\n');
    const states = events.flatMap((event) =>
      event.type === 'item-status' && event.itemId === 'mcp_c1' && event.more?.['output_delta'] === undefined
        ? [`${event.of ?? 'call'} ${event.status}`]
        : [],
    );
    expect(states).toEqual(['call in_progress', 'mcp_call_arguments done', 'call completed']);
    expect(events.at(-1)).toEqual({
      type: 'turn-ended',
      outcome: { kind: 'completed' },
      usage: { ...USAGE, inputTokens: 20, outputTokens: 10, totalTokens: 30 },
      at: expect.any(Number),
    });
  });

  it('offers the tools of codex without those that leave the sandbox, and those of the client', async () => {
    scene.engine.play();
    const tools = new Set(['exec_command', 'apply_patch'] as const);
    const { ended } = await scene.start({
      access: 'read',
      tools,
      request: turnRequest({ tools: [functionTool('weather')] }),
    });
    await ended;
    const [first] = scene.engine.requests;
    expect(first?.tools.map((tool) => (tool.kind === 'function' ? tool.name : tool.kind))).toEqual([
      'exec_command',
      'weather',
    ]);
    const [exec] = first?.tools ?? [];
    const properties = exec?.kind === 'function' ? exec.parameters?.['properties'] : null;
    expect(Object.keys(properties as object)).not.toContain('sandbox_permissions');
    expect(Object.keys(properties as object)).toContain('workdir');
  });

  it('asks the model in the same words in every run', async () => {
    const asked = [];
    for (const _ of [1, 2]) {
      scene.engine.play();
      const { ended } = await scene.start();
      await ended;
      asked.push(scene.engine.requests[0]);
    }
    expect(asked[0]).toEqual(asked[1]);
    expect(JSON.stringify(asked[0])).not.toContain(scene.stateDir);
  });

  it('patches files, keeps a plan, and runs two commands at once', async () => {
    const patch = '*** Begin Patch\n*** Add File: é.txt\n+a "b"\n*** End Patch\n';
    scene.engine.play(
      [
        patches('p1', patch),
        { call: functionCall('u1', 'update_plan', { plan: [{ step: 'a', status: 'pending' }] }) },
      ],
      [
        runs('a', 'touch one; while [ ! -e two ]; do sleep 0.05; done; echo a'),
        runs('b', 'touch two; echo b'),
      ],
      [patches('p2', '*** Begin Patch\n*** Add File: ../out.txt\n+x\n*** End Patch\n')],
    );
    const { ended } = await scene.start();
    const events = await ended;
    expect(await fileIn('é.txt')).toBe('a "b"\n');
    const written = itemsOf(events).flatMap((item) =>
      item.kind === 'hosted-call' ? [item.raw['arguments']] : [],
    );
    expect(written[0]).toBe(JSON.stringify({ patch }));
    const deltas = events.flatMap((event) =>
      event.type === 'item-delta' && event.itemId === 'mcp_p1' ? [event.delta] : [],
    );
    expect(deltas.join('')).toBe(written[0]);
    expect(outputsOf(events)).toEqual({
      p1: expect.stringContaining('Success.'),
      u1: 'Plan updated',
      a: expect.stringMatching(/Output:\na\n$/),
      b: expect.stringMatching(/Output:\nb\n$/),
      p2: 'patch rejected by user',
    });
    expect(progressOf(events).filter(({ kind }) => kind.startsWith('patch'))).toEqual(
      expect.arrayContaining([
        {
          kind: 'patch-ended',
          error: null,
          changes: [{ path: 'é.txt', change: 'add', movePath: null, diff: 'a "b"\n' }],
        },
      ]),
    );
    expect(scene.refused).toEqual(['patch']);
    expect(outcomeOf(events)).toEqual({ kind: 'completed' });
  });

  it('lets no command leave the sandbox, and runs dangerous words inside of it', async () => {
    scene.engine.play(
      [runs('e', 'echo x > escaped', { sandbox_permissions: 'require_escalated', justification: 'please' })],
      [runs('rm', 'mkdir d; rm -rf d; echo gone')],
    );
    const { ended } = await scene.start();
    const outputs = outputsOf(await ended);
    expect(outputs).toEqual({
      e: expect.stringContaining('rejected by user'),
      rm: expect.stringMatching(/Output:\ngone\n$/),
    });
    expect([scene.refused, await hasFile('escaped')]).toEqual([['escalation'], false]);
  });

  it('shows what a command writes while it runs, and all of it at its end', async () => {
    scene.engine.play([
      // codex may lose what a command writes at its very beginning.
      runs('c1', 'until [ -e go1 ]; do echo ä; sleep 0.05; done; echo läst', { yield_time_ms: 30_000 }),
    ]);
    const { ended, events } = await scene.start();
    await until(() => liveOf(events, 'mcp_c1').length > 1);
    await write('go1');
    await ended;
    // It may lose more, also at the end.
    expect(liveOf(events, 'mcp_c1').join('')).toMatch(/^(ä\n)+(läst\n)?$/);
    expect(commandEnd(events)?.output).toMatch(/^(ä\n)+läst\n$/);
  });

  it('bounds what a command writes', async () => {
    scene.engine.play([runs('c1', 'yes 0123456789 | head -c 400000', { max_output_tokens: 200_000 })]);
    const { ended } = await scene.start();
    const events = await ended;
    expect(commandEnd(events)).toMatchObject({ exitCode: 0, status: 'completed' });
    expect(liveOf(events, 'mcp_c1').join('').length).toBeLessThanOrEqual(1024 * 1024);
    expect(String(outputsOf(events)['c1']).length).toBeLessThan(100_000);
  });

  it('writes to a program that runs, and ends it with the run', async () => {
    scene.engine.play(
      [runs('c1', 'cat; echo over # program', { tty: true, yield_time_ms: 500 })],
      [
        {
          call({ items }) {
            const last = items.at(-1);
            const heard = last?.kind === 'tool-output' ? JSON.stringify(last.output) : '';
            const session = Number(/session ID (\d+)/.exec(heard)?.[1]);
            return functionCall('w1', 'write_stdin', { session_id: session, chars: 'hällo\n' });
          },
        },
      ],
    );
    const { ended } = await scene.start();
    const outputs = outputsOf(await ended);
    expect(outputs).toEqual({
      c1: expect.stringMatching(/Process running with session ID \d+/),
      w1: expect.stringContaining('hällo'),
    });
    expect(await processesWith('# program')).toEqual([]);
  });

  it('shows images to the model, and what it was shown to the client', async () => {
    await writeFile(path.join(scene.workspace.path, 'dot.png'), Buffer.from(DOT, 'base64'));
    scene.engine.play([
      { call: functionCall('v1', 'view_image', { path: path.join(scene.workspace.path, 'dot.png') }) },
    ]);
    const { ended } = await scene.start();
    const shown: unknown = JSON.parse(String(outputsOf(await ended)['v1']));
    const heard = scene.engine.requests[1]?.items.at(-1);
    expect(heard).toMatchObject({ kind: 'tool-output', output: [{ kind: 'image' }] });
    expect(shown).toEqual([
      expect.objectContaining({ type: 'input_image', image_url: expect.stringMatching(/^data:image\/png/) }),
    ]);
  });

  it('ends with calls of the client when the other calls have ended', async () => {
    scene.engine.play([
      { call: functionCall('f1', 'weather', { city: 'Bern' }) },
      runs('c1', 'sleep 0.3; echo after > late; echo ok'),
    ]);
    const { ended } = await scene.start({ request: turnRequest({ tools: [functionTool('weather')] }) });
    const events = await ended;
    expect(scene.engine.requests).toHaveLength(1);
    expect(itemsOf(events).map(({ id, kind }) => [kind, id])).toEqual([
      ['tool-call', 'item_0'],
      ['hosted-call', 'mcp_c1'],
    ]);
    expect(outputsOf(events)['c1']).toMatch(/Output:\nok\n$/);
    expect([outcomeOf(events), await fileIn('late')]).toEqual([{ kind: 'tool-calls' }, 'after\n']);
  });

  it('ends at once if all calls are the client’s', async () => {
    scene.engine.play([{ call: functionCall('f1', 'weather', {}) }]);
    const { ended } = await scene.start({ request: turnRequest({ tools: [functionTool('weather')] }) });
    expect([outcomeOf(await ended), scene.engine.requests.length]).toEqual([{ kind: 'tool-calls' }, 1]);
  });
});

describe('approvals', () => {
  it('are asked for at the end, and such calls do not run', async () => {
    scene.engine.play([
      patches('p1', '*** Begin Patch\n*** Add File: asked.txt\n+x\n*** End Patch\n'),
      { call: functionCall('u1', 'update_plan', { plan: [] }) },
    ]);
    const { ended } = await scene.start({ needsApproval: (tool) => tool === 'apply_patch' });
    const events = await ended;
    expect(itemsOf(events)).toEqual([
      expect.objectContaining({ id: 'mcp_u1', kind: 'hosted-call' }),
      {
        kind: 'opaque',
        id: 'mcpr_p1',
        raw: {
          type: 'mcp_approval_request',
          server_label: 'shop',
          name: 'apply_patch',
          arguments: JSON.stringify({
            patch: '*** Begin Patch\n*** Add File: asked.txt\n+x\n*** End Patch\n',
          }),
        },
      },
    ]);
    expect([outcomeOf(events), await hasFile('asked.txt'), scene.engine.requests.length]).toEqual([
      { kind: 'completed' },
      false,
      1,
    ]);
  });

  it('may be needed for one of two calls: the other runs to its end', async () => {
    scene.engine.play([
      runs('c1', 'echo x > unasked'),
      patches('p1', '*** Begin Patch\n*** Add File: next.txt\n+x\n*** End Patch\n'),
    ]);
    const { ended } = await scene.start({
      needsApproval: (tool) => tool === 'exec_command',
      approved: [{ requestId: 'mcpr_c0', call: functionCall('c0', 'exec_command', { cmd: 'echo 0' }) }],
    });
    const events = await ended;
    expect(itemsOf(events).map(({ id }) => id)).toEqual(['mcp_c0', 'mcp_p1', 'mcpr_c1']);
    expect([await hasFile('unasked'), await fileIn('next.txt')]).toEqual([false, 'x\n']);
  });

  it('that were given run first, without the model', async () => {
    scene.engine.play([{ say: 'Thanks.' }]);
    const { ended } = await scene.start({
      needsApproval: () => true,
      approved: [
        { requestId: 'mcpr_c1', call: functionCall('c1', 'exec_command', { cmd: 'echo yes' }) },
        {
          requestId: 'mcpr_p1',
          call: {
            kind: 'tool-call',
            tool: 'custom',
            callId: 'p1',
            name: 'apply_patch',
            input: '*** Begin Patch\n*** Add File: given.txt\n+y\n*** End Patch\n',
          },
        },
      ],
    });
    const events = await ended;
    expect(await fileIn('given.txt')).toBe('y\n');
    expect(events[0]).toMatchObject({ type: 'turn-accepted' });
    expect(
      itemsOf(events).map((item) => ('raw' in item ? [item.id, item.raw['approval_request_id']] : item.kind)),
    ).toEqual([['mcp_c1', 'mcpr_c1'], ['mcp_p1', 'mcpr_p1'], 'message']);
    expect(scene.engine.requests.map((request) => shapeOf(request).slice(2))).toEqual([
      ['user', 'call exec_command', 'call apply_patch', 'output', 'output'],
    ]);
    expect(events.at(-1)).toMatchObject({ outcome: { kind: 'completed' }, usage: USAGE });
  });
});

describe('the end of a run', () => {
  it('is the failure of the model', async () => {
    scene.engine.play([{ throws: gatewayError('rate_limit_exceeded', { retryAfterSeconds: 3 }) }]);
    const first = await scene.start();
    expect(await first.ended).toEqual([
      {
        type: 'turn-ended',
        outcome: { kind: 'failed', failure: failure('rate_limit_exceeded', { retryAfterSeconds: 3 }) },
        usage: null,
        at: expect.any(Number),
      },
    ]);
    scene.engine.play(
      [runs('c1', 'echo 1')],
      [{ say: 'x' }, { end: { kind: 'failed', failure: failure('upstream_error') } }],
    );
    const second = await scene.start();
    const events = await second.ended;
    expect([outcomeOf(events), itemsOf(events).length, scene.engine.requests.length]).toEqual([
      { kind: 'failed', failure: failure('upstream_error') },
      2,
      2,
    ]);
  });

  it.each([
    ['max_model_requests', { context: turnContext() }, 3],
    ['max_tool_calls', { maxCalls: 2 }, 3],
  ] as const)('may be a limit: %s', async (reason, different, requests) => {
    scene.engine.play(...[1, 2, 3, 4, 5].map((nth) => [runs(`c${nth}`, `echo ${nth}`)]));
    const { ended } = await scene.start({
      workspace: { ...scene.workspace, maxModelRequests: 3 },
      ...different,
    });
    const events = await ended;
    expect(outcomeOf(events)).toEqual({ kind: 'incomplete', reason });
    expect(scene.engine.requests).toHaveLength(requests);
    expect(Object.keys(outputsOf(events))).toHaveLength(reason === 'max_tool_calls' ? 2 : 3);
  });

  it('may be its time: the running call fails', async () => {
    scene.engine.play([runs('c1', 'echo begun; sleep 600 # in time', { yield_time_ms: 30_000 })]);
    const { ended } = await scene.start({ workspace: { ...scene.workspace, maxSeconds: 6 } });
    const events = await ended;
    expect(outcomeOf(events)).toEqual({ kind: 'incomplete', reason: 'max_run_seconds' });
    expect(itemsOf(events)).toEqual([
      expect.objectContaining({
        raw: expect.objectContaining({
          status: 'failed',
          output: null,
          error: {
            type: 'mcp_protocol_error',
            code: -32_603,
            message: 'The run ended before the call had finished.',
          },
        }),
      }),
    ]);
    expect(await processesWith('in time')).toEqual([]);
  });

  it('may be the silence of a command', async () => {
    scene.engine.play([runs('c1', 'sleep 600 # silent', { yield_time_ms: 30_000 })]);
    const { ended } = await scene.start({ workspace: { ...scene.workspace, callSeconds: 1 } });
    const events = await ended;
    expect(outcomeOf(events)).toEqual({ kind: 'incomplete', reason: 'max_run_seconds' });
    expect(itemsOf(events)).toMatchObject([
      { raw: { status: 'failed', error: { message: 'The call wrote nothing for 1 s.' } } },
    ]);
    expect(await processesWith('# silent')).toEqual([]);
  });

  it('is the abort of its signal: nothing runs after it', async () => {
    const stop = new AbortController();
    scene.engine.play([runs('c1', 'touch aborted; sleep 600 # aborted', { yield_time_ms: 30_000 })]);
    const { ended, events } = await scene.start({}, stop.signal);
    await until(() => hasFile('aborted'));
    expect(await processesWith('# aborted')).not.toEqual([]);
    expect(scene.runs.free(scene.workspace)).toBe(1);
    stop.abort(new Error('gone'));
    await expect(ended).rejects.toThrow('gone');
    expect(await processesWith('# aborted')).toEqual([]);
    expect(scene.runs.free(scene.workspace)).toBe(2);
    expect(itemsOf(events).map(({ id }) => id)).toEqual(['mcp_c1']);
    expect(scene.engine.requests).toHaveLength(1);
  });

  it('comes when its reader leaves', async () => {
    scene.engine.play([runs('c1', 'touch read; sleep 600 # unread', { yield_time_ms: 30_000 })]);
    const run = await scene.runs.start(
      {
        workspace: scene.workspace,
        access: 'write',
        request: turnRequest(),
        context: turnContext(),
        engine: scene.engine,
        tools: null,
        needsApproval: () => false,
        approved: [],
        maxCalls: null,
      },
      new AbortController().signal,
    );
    for await (const event of run.events) {
      if (event.type !== 'tool-progress') continue;
      await until(() => hasFile('read'));
      break;
    }
    expect([await processesWith('# unread'), scene.runs.free(scene.workspace)]).toEqual([[], 2]);
  });

  it('ends what a command has left in the background', async () => {
    scene.engine.play([
      runs('c1', 'setsid sleep 600 & nohup bash -c "sleep 601 & sleep 602 # left" >/dev/null 2>&1 & echo ok'),
    ]);
    const { ended } = await scene.start();
    expect(outputsOf(await ended)['c1']).toMatch(/Output:\nok\n$/);
    for (const seconds of [600, 601, 602]) expect(await processesWith(`sleep ${seconds}`)).toEqual([]);
  });

  it('may come within the first moments of a command', async () => {
    for (const nth of [1, 2, 3, 4]) {
      const stop = new AbortController();
      scene.engine.play([runs('c1', `touch moment${nth}; setsid sleep 603`, { yield_time_ms: 30_000 })]);
      const { ended } = await scene.start({}, stop.signal);
      await until(() => hasFile(`moment${nth}`));
      stop.abort(new Error('gone'));
      await expect(ended).rejects.toThrow('gone');
    }
    expect(await processesWith('sleep 603')).toEqual([]);
  });

  it('may come at any moment of the start', async () => {
    for (const ms of [0, 20, 60, 120, 200, 300]) {
      const stop = new AbortController();
      scene.engine.play([runs('c1', 'sleep 600 # early', { yield_time_ms: 30_000 })]);
      setTimeout(() => stop.abort(new Error('gone')), ms);
      const run = async (): Promise<void> => {
        const { ended } = await scene.start({}, stop.signal);
        await ended;
      };
      await expect(run()).rejects.toThrow('gone');
    }
    expect([await processesWith('# early'), scene.runs.free(scene.workspace)]).toEqual([[], 2]);
  });

  it('is the loss of the app-server', async () => {
    scene.engine.play([runs('c1', 'touch lost; sleep 600 # lost', { yield_time_ms: 30_000 })]);
    const { ended, events } = await scene.start();
    await until(() => hasFile('lost'));
    const own = path.join(scene.stateDir, '');
    for (const pid of await processesWith('app-server')) {
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
      if (environment.includes(own)) process.kill(pid, 'SIGKILL');
    }
    await ended;
    expect(outcomeOf(events)).toEqual({ kind: 'failed', failure: failure('worker_lost') });
    expect(itemsOf(events)).toMatchObject([{ id: 'mcp_c1', raw: { status: 'failed' } }]);
    expect(await processesWith('# lost')).toEqual([]);
    scene.engine.play([runs('c2', 'echo again')]);
    const next = await scene.start();
    expect(outputsOf(await next.ended)['c2']).toContain('again');
  });
});

describe('a message of the user', () => {
  it('reaches the model with its next request, while a command runs', async () => {
    scene.engine.play(
      [runs('c1', 'touch waits; until [ -e steered ]; do sleep 0.05; done')],
      [{ say: 'ok' }],
    );
    const { run, ended, events } = await scene.start();
    await until(() => hasFile('waits'));
    expect(await run.steer(user('Hurry.'))).toBe(true);
    await write('steered');
    await ended;
    expect(scene.engine.requests.map((request) => shapeOf(request).slice(2))).toEqual([
      ['user'],
      ['user', 'call exec_command', 'output', 'user'],
    ]);
    expect(scene.engine.requests[1]?.items.at(-1)).toEqual(user('Hurry.'));
    expect(events.filter(({ type }) => type === 'steered')).toEqual([
      { type: 'steered', message: user('Hurry.') },
    ]);
    expect(await run.steer(user('Late.'))).toBe(false);
  });

  it('interrupts what the model writes', async () => {
    scene.engine.play([{ say: 'nearly' }, { wait: new Promise(() => {}) }], [{ say: 'really done' }]);
    const { run, ended, events } = await scene.start();
    await until(() => events.some(({ type }) => type === 'item-ended'));
    expect(await run.steer(user('One more.'))).toBe(true);
    await ended;
    expect(scene.engine.requests.map((request) => shapeOf(request).slice(2))).toEqual([
      ['user'],
      ['user', 'assistant', 'user'],
    ]);
    expect(events.filter(({ type }) => type === 'steered')).toHaveLength(1);
    expect(outcomeOf(events)).toEqual({ kind: 'completed' });
  });

  it('may have images, and nothing else', async () => {
    scene.engine.play([runs('c1', 'touch sees; until [ -e seen ]; do sleep 0.05; done')]);
    const { run, ended, events } = await scene.start();
    await until(() => hasFile('sees'));
    const image = { kind: 'image', url: `data:image/png;base64,${DOT}` } as const;
    const texts = { kind: 'text', text: 'Like this:' } as const;
    const messages: readonly Message[] = [
      { kind: 'message', role: 'user', parts: [texts, image] },
      { kind: 'message', role: 'user', parts: [image] },
    ];
    for (const message of messages) expect(await run.steer(message)).toBe(true);
    await write('seen');
    await ended;
    const heard = scene.engine.requests[1]?.items.slice(-2);
    expect(heard).toEqual(messages);
    expect(events.filter(({ type }) => type === 'steered')).toHaveLength(2);
  });

  it('does not interrupt a command that the same answer has begun', async () => {
    scene.engine.play(
      [
        runs('c1', 'touch goes; until [ -e gone ]; do sleep 0.05; done; echo hi'),
        { wait: new Promise(() => {}) },
      ],
      [{ say: 'ok' }],
    );
    const { run, ended, events } = await scene.start();
    await until(() => hasFile('goes'));
    expect(await run.steer(user('Hurry.'))).toBe(true);
    await write('gone');
    await ended;
    expect(scene.engine.requests.map((request) => shapeOf(request).slice(2))).toEqual([
      ['user'],
      ['user', 'call exec_command', 'output', 'user'],
    ]);
    expect(outputsOf(events)['c1']).toMatch(/Output:\nhi\n$/);
  });
});

describe('limits of a key', () => {
  it('hold for every model request', async () => {
    scene.engine.play([runs('c1', 'echo 1')], [runs('c2', 'echo 2')]);
    const asked: number[] = [];
    const { ended } = await scene.start({
      context: turnContext({
        budget: new ModelBudget(1),
        async reserve(chars) {
          asked.push(chars);
          if (asked.length > 1) throw gatewayError('rate_limit_exceeded');
          return { begin() {}, giveBack() {} };
        },
      }),
    });
    const events = await ended;
    expect(outcomeOf(events)).toEqual({ kind: 'failed', failure: failure('rate_limit_exceeded') });
    expect([asked.length, scene.engine.requests.length]).toEqual([2, 2]);
    expect(asked[0]).toBe(String(outputsOf(events)['c1']).length);
  });
});

describe('a workspace', () => {
  it('has a place for each of its runs', async () => {
    const go = Promise.withResolvers<void>();
    scene.engine.play([{ wait: go.promise }], [{ wait: go.promise }]);
    const [one, two] = [await scene.start(), await scene.start()];
    await expect(scene.start()).rejects.toMatchObject({
      failure: { status: 429, code: 'workspace_busy', retryAfterSeconds: expect.any(Number) },
    });
    let freed = 0;
    const stop = scene.runs.whenFree(() => {
      freed += 1;
    });
    go.resolve();
    await Promise.all([one.ended, two.ended]);
    stop();
    expect([freed, scene.runs.free(scene.workspace)]).toEqual([2, 2]);
  });

  it('is not needed: then there is no tool of codex', async () => {
    scene.engine.play([{ say: 'Hello.' }]);
    const { ended } = await scene.start({ workspace: null });
    expect(outcomeOf(await ended)).toEqual({ kind: 'completed' });
    expect(scene.engine.requests[0]?.tools).toEqual([]);
  });
});
