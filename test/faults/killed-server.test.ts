import { setTimeout as sleep } from 'node:timers/promises';

import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import { answer } from '../../src/demo/answer.ts';
import { openCommandRoom, type CommandRoom, type RunningCommand } from '../support/command.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { runs } from '../support/runs.ts';
import { until } from '../support/until.ts';

/** A server that is killed again and again under 50 clients. */

type Response = OpenAI.Responses.Response;

const KEY = 'sk-test-key-0123456789';
const CLIENTS = 50;
const ROUNDS = runs(2);

let room: CommandRoom;
beforeEach(async () => {
  room = await openCommandRoom();
});
afterEach(() => room.close());

/** Answers with the last text that it read. */
const echo: Script = (request, connection) => {
  const items = request.body['input'] as readonly { content?: readonly { text?: string }[] }[];
  return answer(connection, [{ text: `Re: ${items.at(-1)?.content?.[0]?.text ?? ''}`, delayMs: 5 }]);
};

const textOf = ({ content }: { content?: readonly { text?: string }[] }): string => content?.[0]?.text ?? '';

/** A conversation: what was asked, and the last answer that the client saw completed. */
class Talk {
  readonly #name: string;
  readonly #texts: string[] = [];
  #last: Response | null = null;
  /** Responses that were accepted, but not seen completed. */
  readonly unknown = new Set<string>();
  readonly completed: Response[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  /** Asks until the server dies. */
  async goOn(openai: OpenAI, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      try {
        await this.#ask(openai);
      } catch (error) {
        if (!isOver()) throw error;
      }
    }
  }

  /** What the whole conversation consists of. */
  get texts(): readonly string[] {
    return this.#texts;
  }

  get last(): Response | null {
    return this.#last;
  }

  async #ask(openai: OpenAI): Promise<void> {
    const count = this.completed.length;
    const input = `${this.#name} asks ${count}.`;
    const ask = {
      model: 'gpt-5.5',
      input,
      ...(this.#last === null ? {} : { previous_response_id: this.#last.id }),
    };
    const response = await this.#answer(openai, ask, count);
    if (response.status !== 'completed') throw new Error(JSON.stringify(response.error));
    this.unknown.delete(response.id);
    this.completed.push(response);
    this.#last = response;
    this.#texts.push(input, `Re: ${input}`);
  }

  /** In one of four ways. */
  async #answer(openai: OpenAI, ask: { model: string; input: string }, count: number): Promise<Response> {
    const { responses } = openai;
    const way = (count + this.#name.length) % 4;
    if (way === 0) return responses.create(ask);
    if (way < 3) {
      const stream = await responses.create({ ...ask, background: way === 2, stream: true });
      for await (const event of stream) {
        if (event.type === 'response.created' && way === 2) this.unknown.add(event.response.id);
        if (event.type === 'response.completed') return event.response;
      }
      throw new Error('the stream has no end');
    }
    const { id } = await responses.create({ ...ask, background: true });
    this.unknown.add(id);
    for (;;) {
      const response = await responses.retrieve(id);
      if (response.status === 'completed' || response.status === 'failed') return response;
      await sleep(50);
    }
  }
}

const urlOf = ({ output }: RunningCommand): string | undefined =>
  /URL\s+(http:\/\/127\.0\.0\.1:\d+)/.exec(output.err)?.[1];

/** The client adds `output_text`, and may leave it out. */
const plain = (response: Response): unknown => ({ ...response, output_text: undefined });

describe.each(['sqlite', 'postgres'] as const)('%s', (kind) => {
  it('has every response that a client saw completed, whole and once', async () => {
    const model = await room.startModel({ script: echo });
    const env = {
      PROXY_API_KEY: KEY,
      PROXY_UPSTREAM_BASE_URL: model.baseUrl,
      PROXY_LOG_LEVEL: 'error',
      ...(kind === 'sqlite' ? {} : { PROXY_DATABASE_URL: await (await sharedPostgres()).createDatabase() }),
    };
    const talks = Array.from({ length: CLIENTS }, (_, index) => new Talk(`Client ${index}`));
    const start = async () => {
      const server = room.start([], env);
      await until(() => urlOf(server) !== undefined);
      return { server, openai: new OpenAI({ baseURL: `${urlOf(server)}/v1`, apiKey: KEY, maxRetries: 0 }) };
    };
    for (let round = 1; round <= ROUNDS; round += 1) {
      const { server, openai } = await start();
      const seen = (): number => talks.reduce((sum, { completed }) => sum + completed.length, 0);
      let isOver = false;
      const talking = talks.map((talk) => talk.goOn(openai, () => isOver));
      // Somewhere in the middle of everything.
      await until(() => seen() > round * CLIENTS + Math.random() * CLIENTS);
      isOver = true;
      server.child.kill('SIGKILL');
      await Promise.all([...talking, server.exited]);
    }
    const { openai } = await start();
    for (const talk of talks) {
      for (const response of talk.completed) {
        const stored = await openai.responses.retrieve(response.id);
        expect(plain(stored)).toEqual(plain(response));
      }
      if (talk.last === null) continue;
      const texts = [`Re: ${talk.texts.at(-2) ?? ''}`];
      for await (const item of openai.responses.inputItems.list(talk.last.id))
        texts.unshift(textOf(item as never));
      expect(texts).toEqual(talk.texts);
    }
    // What ran when the server was killed has an end, too.
    for (const id of talks.flatMap(({ unknown }) => [...unknown])) {
      let status: string | undefined = 'queued';
      await until(async () => {
        ({ status } = await openai.responses.retrieve(id));
        return status !== 'queued' && status !== 'in_progress';
      });
      expect(['completed', 'failed']).toContain(status);
    }
  }, 240_000);
});
