import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { describe, expect, it } from 'vitest';

import { freshProxies } from '../support/open-proxy.ts';
import { hello, says } from '../support/scripts.ts';
import { until } from '../support/until.ts';
import { hangs, inBackground, whenEnded } from './background-ask.ts';

const started = freshProxies();

describe('background responses', () => {
  it('that still run when the server stops have failed, and say so after a restart', async () => {
    const stateDir = await mkdtemp(path.join(tmpdir(), 'background-'));
    const first = await started(hangs, { PROXY_STATE_DIR: stateDir });
    const { id } = await inBackground(first.openai);
    const streaming = first.get(`/v1/responses/${id}?stream=true`).then((answer) => answer.text());
    await until(() => first.model.activeRequests() === 1);
    await first.app.stop(2_000);
    const text = await streaming;
    expect(text).toMatch(/event: error\n.*\n\nevent: response.failed\n.*\n\nevent: done\n/);
    expect(first.log.filter(({ msg }) => msg === 'background response')).toMatchObject([{ responseId: id }]);
    const second = await started(hello, { PROXY_STATE_DIR: stateDir });
    expect(await second.openai.responses.retrieve(id)).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: expect.stringContaining('was interrupted') as unknown },
    });
    expect(await (await second.get(`/v1/responses/${id}?stream=true`)).text()).toBe(text);
  });

  it('that still run when the server stops run again after a restart, if they should', async () => {
    const stateDir = await mkdtemp(path.join(tmpdir(), 'background-'));
    const env = { PROXY_STATE_DIR: stateDir, PROXY_BACKGROUND_RESUME: 'on' };
    const first = await started(hello, env);
    const asked = await first.openai.responses.create({
      model: 'gpt-5.5',
      input: 'Hi.',
      instructions: 'Be kind.',
    });
    first.use(hangs);
    const { id, created_at: createdAt } = await inBackground(first.openai, {
      input: 'Again?',
      previous_response_id: asked.id,
      metadata: { a: 'b' },
    });
    await until(() => first.model.activeRequests() === 1);
    await first.app.stop(0);
    const second = await started(hello, env, { times: { leaseEveryMs: 50 } });
    expect((await second.openai.responses.retrieve(id)).status).toMatch(/queued|in_progress|completed/);
    expect(await whenEnded(second.openai, id)).toMatchObject({
      id,
      created_at: createdAt,
      status: 'completed',
      previous_response_id: asked.id,
      metadata: { a: 'b' },
      output_text: 'Hello from the scripted model.',
    });
    expect(second.model.requests.at(-1)?.body['input']).toHaveLength(3);
    expect(second.log.filter(({ msg }) => /has stopped/.test(String(msg)))).toMatchObject([
      { responseId: id, isRunAgain: true },
    ]);
    const rows = new DatabaseSync(path.join(stateDir, 'state.db'))
      .prepare('select body from responses')
      .all();
    expect(JSON.stringify(rows)).not.toContain('reruns');
  });

  it('that stop their server again and again fail in the end', async () => {
    const stateDir = await mkdtemp(path.join(tmpdir(), 'background-'));
    const env = { PROXY_STATE_DIR: stateDir, PROXY_BACKGROUND_RESUME: 'on' };
    const first = await started(hangs, env);
    const { id } = await inBackground(first.openai);
    await until(() => first.model.activeRequests() === 1);
    await first.app.stop(0);
    for (let count = 0; count < 2; count += 1) {
      const next = await started(hangs, env, { times: { leaseEveryMs: 50 } });
      await until(() => next.model.activeRequests() === 1);
      await next.app.stop(0);
    }
    const last = await started(hello, env, { times: { leaseEveryMs: 50 } });
    expect(await whenEnded(last.openai, id)).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: expect.stringContaining('was interrupted') as unknown },
    });
    expect(last.model.requests).toEqual([]);
    expect(await (await last.get('/metrics')).text()).toContain(
      'proxy_background_lost_total{result="failed"} 1',
    );
  });

  it('that end in time are waited for when the server stops', async () => {
    const stateDir = await mkdtemp(path.join(tmpdir(), 'background-'));
    const first = await started(says([{ text: 'a b c d e f g h', delayMs: 50 }]), {
      PROXY_STATE_DIR: stateDir,
    });
    const { id } = await inBackground(first.openai);
    await until(() => first.model.activeRequests() === 1);
    await first.app.stop(30_000);
    const second = await started(hello, { PROXY_STATE_DIR: stateDir });
    expect(await second.openai.responses.retrieve(id)).toMatchObject({
      status: 'completed',
      output_text: 'a b c d e f g h',
    });
  });
});
