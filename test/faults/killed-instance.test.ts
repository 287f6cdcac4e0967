import path from 'node:path';

import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { openCommandRoom, type CommandRoom, type RunningCommand } from '../support/command.ts';
import { FollowedResponse } from '../support/follow-response.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { startRoundRobin, type RoundRobin } from '../support/round-robin.ts';
import { says } from '../support/scripts.ts';
import { until } from '../support/until.ts';

/** Two servers on one PostgreSQL behind a round-robin: one of them is killed while background responses run. */

const KEY = 'sk-test-key-0123456789';
const WORDS = Array.from({ length: 40 }, (_, index) => `word${index} `);
const [BEFORE, AFTER] = [WORDS.slice(0, 20), WORDS.slice(20)];
const CLIENTS = 10;

let room: CommandRoom;
let front: RoundRobin | null = null;
beforeEach(async () => {
  room = await openCommandRoom();
});
afterEach(async () => {
  await front?.close();
  await room.close();
});

const urlOf = ({ output }: RunningCommand): string | undefined =>
  /URL\s+(http:\/\/127\.0\.0\.1:\d+)/.exec(output.err)?.[1];

/** Two servers, and a client of both. Answers stop halfway until `goOn`: none ends before a server is killed. */
const twoServers = async (env: Readonly<Record<string, string>>) => {
  const { promise: wait, resolve: goOn } = Promise.withResolvers<void>();
  const model = await room.startModel({
    script: says([
      { text: BEFORE.join(''), deltas: BEFORE, delayMs: 20 },
      { wait },
      { text: AFTER.join(''), deltas: AFTER, delayMs: 20 },
    ]),
    keepRequests: 100,
  });
  const shared = {
    PROXY_API_KEY: KEY,
    PROXY_UPSTREAM_BASE_URL: model.baseUrl,
    PROXY_DATABASE_URL: await (await sharedPostgres()).createDatabase(),
    ...env,
  };
  const servers = ['one', 'two'].map((name) =>
    room.start([], { ...shared, PROXY_STATE_DIR: path.join(room.home, name) }),
  );
  await until(() => servers.every((server) => urlOf(server) !== undefined));
  front = await startRoundRobin(servers.map((server) => urlOf(server) ?? ''));
  const openai = new OpenAI({ baseURL: `${front.url}/v1`, apiKey: KEY, maxRetries: 5 });
  /** Starts responses, and kills the first server when all clients have seen some text. */
  const followAndKill = async (): Promise<readonly FollowedResponse[]> => {
    const followed = Array.from({ length: CLIENTS }, () => new FollowedResponse(front?.url ?? '', KEY));
    const following = followed.map((one, index) => one.read({ model: 'gpt-5.5', input: `Client ${index}.` }));
    await until(() => followed.every(({ events }) => events.length > 8));
    servers[0]?.child.kill('SIGKILL');
    goOn();
    await Promise.all(following);
    return followed;
  };
  return { openai, model, followAndKill };
};

/** The numbers of the events have neither gaps nor repetitions, and the stream ends with what a poll shows. */
const expectWhole = async ({ id, events, last }: FollowedResponse, openai: OpenAI): Promise<void> => {
  expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
  const { output_text: _, ...polled } = await openai.responses.retrieve(id);
  expect(last).toEqual(polled);
};

describe('the other server', () => {
  it('ends the responses of a killed one as failed, and serves all others', async () => {
    const { openai, followAndKill } = await twoServers({});
    const followed = await followAndKill();
    for (const one of followed) await expectWhole(one, openai);
    const withStatus = (status: string) => followed.filter(({ last }) => last['status'] === status);
    expect([withStatus('completed').length, withStatus('failed').length]).toEqual([5, 5]);
    for (const { last, events, breaks } of withStatus('failed')) {
      expect(last).toMatchObject({
        error: { code: 'server_error', message: expect.stringContaining('was interrupted') as unknown },
        output: [],
      });
      expect(events.at(-2)).toMatchObject({ type: 'error', code: 'server_error' });
      expect(breaks).toBeGreaterThan(0);
    }
    expect((await openai.responses.create({ model: 'gpt-5.5', input: 'Still here?' })).output_text).toBe(
      WORDS.join(''),
    );
  }, 120_000);

  it('runs the responses of a killed one again, if it should', async () => {
    const { openai, model, followAndKill } = await twoServers({ PROXY_BACKGROUND_RESUME: 'on' });
    const followed = await followAndKill();
    for (const one of followed) {
      await expectWhole(one, openai);
      expect((await openai.responses.retrieve(one.id)).output_text).toBe(WORDS.join(''));
    }
    const again = followed.filter(
      ({ events }) => events.filter(({ type }) => type === 'response.in_progress').length === 2,
    );
    expect(again).toHaveLength(5);
    expect(model.requests).toHaveLength(15);
  }, 120_000);
});
