import { afterAll, afterEach, beforeAll } from 'vitest';

import type { Json, JsonObject } from '../../src/kit/json/json.ts';
import { hello } from '../support/scripts.ts';
import { startChatGptBackend, type ChatGptBackend } from './backend.ts';
import { responsesDraft, OWN_REASONING, type Draft } from './conforming.ts';

/** A backend as it is after a start, and ways to ask it. A test file calls `useBackend()` first. */
export let backend: ChatGptBackend;

/** Starts the backend of a test file. Each test begins with a fresh state. */
export const useBackend = (): void => {
  beforeAll(async () => {
    backend = await startChatGptBackend({ script: hello });
  });
  afterEach(() => backend.reset());
  afterAll(() => backend.close());
};

export const fullWithHistory = (): Draft => {
  backend.settings.ownEncrypted = new Set([OWN_REASONING]);
  return responsesDraft();
};

export const ask = (draft: Draft): Promise<Response> =>
  fetch(`${backend.baseUrl}/codex/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...draft.headers },
    body: JSON.stringify(draft.body),
  });

export const asked = async (draft: Draft): Promise<{ readonly status: number; readonly body: unknown }> => {
  const response = await ask(draft);
  return { status: response.status, body: await response.json() };
};
export const get = (
  at: string,
  headers: Record<string, string> = responsesDraft().headers,
): Promise<Response> => fetch(backend.origin + at, { headers });
export const post = async (at: string, body: Json): Promise<{ status: number; body: JsonObject }> => {
  const response = await fetch(backend.origin + at, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as JsonObject };
};
