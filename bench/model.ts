import { fork } from 'node:child_process';
import { once } from 'node:events';

import type { JsonObject } from '../src/kit/json/json.ts';
import type { ModelMessage, ModelQuestion } from './workload.ts';

export interface BenchModel {
  readonly baseUrl: string;
  /** The same model as the backend of a ChatGPT login. */
  readonly chatgptBaseUrl: string;
  /** Prepares an answer with this many deltas before it is requested. */
  prepare(deltas: number): Promise<void>;
  /** The body of the latest request to the model. */
  lastRequest(): Promise<JsonObject>;
  close(): Promise<void>;
}

export const startBenchModel = async (): Promise<BenchModel> => {
  const child = fork(new URL('model-process.ts', import.meta.url));
  const next = async (): Promise<ModelMessage> => {
    const [message]: ModelMessage[] = await once(child, 'message');
    if (message === undefined) throw new Error('the model said nothing');
    return message;
  };
  const ask = (question: ModelQuestion): Promise<ModelMessage> => {
    child.send(question);
    return next();
  };
  const first = await next();
  if (first.kind !== 'listening') throw new Error('the model did not start');
  return {
    baseUrl: first.baseUrl,
    chatgptBaseUrl: first.chatgptBaseUrl,
    async prepare(deltas) {
      await ask({ kind: 'prepare', deltas });
    },
    async lastRequest() {
      const answer = await ask({ kind: 'ask-last-request' });
      if (answer.kind !== 'last-request' || answer.body === null) throw new Error('no request came');
      return answer.body;
    },
    async close() {
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
};
