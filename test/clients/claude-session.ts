import { afterAll, expect } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import type { ScriptStep } from '../../src/demo/script-step.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { openClaudeRoom, type ClaudeRoom } from '../support/claude-code.ts';
import type { TestProxy } from '../support/proxy.ts';
import { itemsOf } from './rounds.ts';

interface Server {
  readonly url: string;
  readonly key: string;
}

/** Rooms of the real Claude Code whose API is this server; they are removed after the tests of the file. */
export const claudeRooms = (
  server: () => Server,
): ((env?: Readonly<Record<string, string>>) => Promise<ClaudeRoom>) => {
  const rooms: ClaudeRoom[] = [];
  afterAll(() => Promise.all(rooms.map((room) => room.close())));
  return async (env = {}) => {
    const { url, key } = server();
    const room = await openClaudeRoom({ url, key, env });
    rooms.push(room);
    return room;
  };
};

/** Uses the script, and returns the model requests since then. */
export const watch = (proxy: TestProxy, script: Script): (() => readonly JsonObject[]) => {
  const before = new Set(proxy.model.requests);
  proxy.use(script);
  return () => proxy.model.requests.filter((request) => !before.has(request)).map(({ body }) => body);
};

export const call = (callId: string, name: string, args: JsonObject | string): ScriptStep => ({
  call: { id: `fc_${callId}`, callId, name, arguments: args },
});

export const thought = (n: number): ScriptStep => ({
  reasoning: { id: `rs_${n}`, summary: [`**Step ${n}**`, `Part two of ${n}.`], encrypted: `sealed-${n}` },
});

/** The reasoning item of `thought` in a later model request. */
export const thoughtItem = (n: number): JsonObject => ({
  type: 'reasoning',
  id: `rs_${n}`,
  summary: [
    { type: 'summary_text', text: `**Step ${n}**` },
    { type: 'summary_text', text: `Part two of ${n}.` },
  ],
  encrypted_content: `sealed-${n}`,
});

/** Everything that the model said or got from tools, without the messages of the user and the system. */
export const workIn = (body: JsonObject | undefined): readonly JsonObject[] =>
  itemsOf(body ?? {}).filter(({ role }) => role === undefined || role === 'assistant');

/** All messages of the user, as one text. */
export const userText = (body: JsonObject | undefined): string =>
  JSON.stringify(itemsOf(body ?? {}).filter(({ role }) => role === 'user'));

/** Every request continues the one before it to the byte, so that the backend finds it in its prompt cache. */
export const expectGrowing = (bodies: readonly JsonObject[]): void => {
  for (const [index, earlier] of bodies.slice(0, -1).entries()) {
    const later = bodies[index + 1] ?? {};
    expect(differencesOf(earlier, later)).toEqual([]);
  }
};

/** Both texts of every item or field that is not the same, around the place where they differ. */
const differencesOf = (earlier: JsonObject, later: JsonObject): readonly unknown[] => {
  const items = itemsOf(later);
  const pairs = [
    ...itemsOf(earlier).map((item, index) => [`input.${index}`, item, items[index]] as const),
    ...SAME.map((name) => [name, earlier[name], later[name]] as const),
  ];
  return pairs
    .map(([name, one, other]) => ({
      name,
      one: JSON.stringify(one) ?? '',
      other: JSON.stringify(other) ?? '',
    }))
    .filter(({ one, other }) => one !== other)
    .map(({ name, one, other }) => {
      let at = 0;
      while (at < one.length && one[at] === other[at]) at += 1;
      const around = (text: string): string => text.slice(Math.max(0, at - 40), at + 200);
      return { name, earlier: around(one), later: around(other) };
    });
};

/** The fields that are part of the prompt, or choose its cache. */
const SAME = ['model', 'instructions', 'tools', 'reasoning', 'text', 'prompt_cache_key'];
