import { once } from 'node:events';
import { createInterface } from 'node:readline';

import { isJsonObject, type JsonObject } from '../../src/kit/json/json.ts';
import type { CodexRoom } from './codex-exec.ts';

/** Another `codex app-server`, used like by an editor. */
export interface AppServerClient {
  /** Its result; throws its error. */
  call(method: string, params: JsonObject): Promise<JsonObject>;
  /** The next notification of this method. */
  next(method: string): Promise<JsonObject>;
  close(): Promise<void>;
}

export const startAppServer = async (room: CodexRoom): Promise<AppServerClient> => {
  const child = room.start('app-server');
  child.stderr?.resume();
  const calls = new Map<number, PromiseWithResolvers<JsonObject>>();
  const waiting: { readonly method: string; readonly told: (params: JsonObject) => void }[] = [];
  let last = 0;
  const send = (message: JsonObject): void => void child.stdin?.write(`${JSON.stringify(message)}\n`);
  if (child.stdout === null) throw new Error('it has no output');
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line) as JsonObject;
    const { id, method, params, result, error } = message;
    if (typeof method === 'string') {
      const at = waiting.findIndex((one) => one.method === method);
      if (at >= 0) waiting.splice(at, 1)[0]?.told(isJsonObject(params) ? params : {});
      return;
    }
    const call = calls.get(Number(id));
    calls.delete(Number(id));
    if (isJsonObject(result)) call?.resolve(result);
    else call?.reject(new Error(JSON.stringify(error)));
  });
  const call: AppServerClient['call'] = (method, params) => {
    last += 1;
    const answer = Promise.withResolvers<JsonObject>();
    calls.set(last, answer);
    send({ id: last, method, params });
    return answer.promise;
  };
  await call('initialize', {
    clientInfo: { name: 'an_editor', title: null, version: '1' },
    capabilities: { experimentalApi: true, requestAttestation: false },
  });
  send({ method: 'initialized' });
  return {
    call,
    next: (method) => new Promise((told) => waiting.push({ method, told })),
    async close() {
      const ended = once(child, 'close');
      child.stdin?.end();
      await ended;
    },
  };
};

/** A conversation in it. */
export interface EditorThread {
  readonly id: string;
  /** Runs a method to its end, and returns the final status. */
  run(method: string, params?: JsonObject): Promise<unknown>;
  say(text: string): Promise<unknown>;
}

export const openThread = async (client: AppServerClient): Promise<EditorThread> => {
  const { thread } = await client.call('thread/start', { approvalPolicy: 'never', sandbox: 'read-only' });
  const { id } = thread as { readonly id: string };
  const run: EditorThread['run'] = async (method, params = {}) => {
    const ended = client.next('turn/completed');
    await client.call(method, { threadId: id, ...params });
    return ((await ended)['turn'] as JsonObject)['status'];
  };
  return { id, run, say: (text) => run('turn/start', { input: [{ type: 'text', text }] }) };
};
