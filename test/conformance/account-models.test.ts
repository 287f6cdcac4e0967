import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { findCodexBinary } from '../../src/codex/binary.ts';
import { directLogin } from '../../src/codex/home/backend.ts';
import { prepareHomes, type CodexHomes } from '../../src/codex/home/prepare-home.ts';
import { createWorkerSpawner } from '../../src/codex/worker/spawn-worker.ts';
import type { Json, JsonObject } from '../../src/kit/json/json.ts';
import { openModels, type OpenModels, type OpenModelsOptions } from '../../src/compose/backend.ts';

/** The real codex with a made-up ChatGPT login, and a backend whose model list the test sets. */

interface Asked {
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: JsonObject;
}
type Answer = (asked: Asked, response: ServerResponse) => void;

const binary = findCodexBinary();
const closers: (() => Promise<void>)[] = [];
let directory: string;
let baseUrl: string;
let asked: Asked[];
let answer: Answer;
let troubles: unknown[];

const json =
  (value: Json, status = 200): Answer =>
  (_asked, response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'account-models-'));
  closers.push(() => rm(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
  [asked, troubles] = [[], []];
  answer = json({}, 404);
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      const one = {
        url: incoming.url ?? '',
        headers: incoming.headers,
        body: (text === '' ? {} : JSON.parse(text)) as JsonObject,
      };
      asked.push(one);
      answer(one, response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  closers.push(async () => {
    server.closeAllConnections();
    server.close();
  });
});
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const tokenUntil = (seconds: number): string => {
  const claims = {
    email: 'user@example.com',
    exp: Math.floor(Date.now() / 1000) + seconds,
    'https://api.openai.com/auth': { chatgpt_plan_type: 'plus', chatgpt_account_id: 'acc_1' },
  };
  const encoded = [{ alg: 'none' }, claims].map((one) =>
    Buffer.from(JSON.stringify(one)).toString('base64url'),
  );
  return [...encoded, 'made-up'].join('.');
};
const DAYS = 86_400 * 5;

const signIn = async (token: string): Promise<CodexHomes> => {
  const login = path.join(directory, 'login');
  await mkdir(login, { recursive: true });
  const tokens = { id_token: token, access_token: token, refresh_token: 'r-1', account_id: 'acc_1' };
  await writeFile(
    path.join(login, 'auth.json'),
    JSON.stringify({ OPENAI_API_KEY: null, tokens, last_refresh: new Date().toISOString() }),
  );
  const environment = { PATH: process.env['PATH'], CODEX_HOME: login };
  return prepareHomes({ stateDir: path.join(directory, 'state'), binary, environment });
};

const open = async (homes: CodexHomes, options: Partial<OpenModelsOptions> = {}): Promise<OpenModels> => {
  const trouble = (facts: unknown): void => void troubles.push(facts);
  const models = await openModels({
    homes,
    backend: directLogin('chatgpt'),
    appServerBackend: { ...directLogin('chatgpt'), baseUrl },
    via: 'us',
    apiKey: null,
    clock: { now: () => Date.now() },
    logger: { warn: trouble, info: trouble },
    // codex starts slowly on a busy machine.
    firstWaitMs: 40_000,
    ...options,
  });
  closers.push(() => models.close());
  return models;
};

const idsOf = async (models: OpenModels) => {
  const { models: listed, standard } = await models.models();
  return { ids: listed.map(({ id }) => id), standard };
};

const NEW_MODEL = {
  slug: 'gpt-9-nova',
  display_name: 'Nova',
  description: 'New.',
  visibility: 'list',
  supported_in_api: true,
  priority: 0,
  supported_reasoning_levels: [{ effort: 'giga', description: 'a lot' }],
  default_reasoning_level: 'giga',
  service_tiers: [{ id: 'priority', name: 'Fast', description: '' }],
  support_verbosity: true,
  shell_type: 'unified_exec',
  truncation_policy: { mode: 'tokens', limit: 10_000 },
  experimental_supported_tools: [],
  input_modalities: ['text'],
  context_window: 1_000_000,
  max_context_window: 2_000_000,
  use_responses_lite: true,
  base_instructions: 'You are Codex.',
};
const LISTED = { models: [NEW_MODEL, { slug: 'gpt-5.5', priority: 1 }] };

describe('the models of an account', () => {
  it('are listed by the backend, and codex requests the list once', async () => {
    answer = json(LISTED);
    const models = await open(await signIn(tokenUntil(DAYS)));
    expect(await models.models()).toMatchObject({
      standard: 'gpt-9-nova',
      models: [
        {
          id: 'gpt-9-nova',
          displayName: 'Nova',
          efforts: ['giga'],
          defaultEffort: 'giga',
          serviceTiers: ['priority'],
          inputModalities: ['text'],
          contextWindow: 1_000_000,
          maxContextWindow: 2_000_000,
        },
        { id: 'gpt-5.5', displayName: 'GPT-5.5', contextWindow: 272_000 },
      ],
    });
    expect(
      asked.map(({ url, headers }) => ({
        url,
        account: headers['chatgpt-account-id'],
        isSigned: headers.authorization?.startsWith('Bearer ey'),
        forwarded: Object.keys(headers).filter((name) => /^(x-forwarded|forwarded|via|sec-|cf-)/.test(name)),
      })),
    ).toEqual([
      { url: `/models?client_version=${binary.version}`, account: 'acc_1', isSigned: true, forwarded: [] },
    ]);
    expect(troubles).toEqual([]);
  });

  it('are read from codex itself without the relay', async () => {
    const homes = await signIn(tokenUntil(DAYS));
    answer = json({ models: [NEW_MODEL] });
    const models = await open(homes, { via: 'codex' });
    expect(await idsOf(models)).toEqual({ ids: ['gpt-9-nova'], standard: 'gpt-9-nova' });
  });

  it('are requested after an expired token was refreshed', async () => {
    const token = tokenUntil(DAYS);
    answer = (one, response) =>
      one.url === '/oauth/token'
        ? json({ id_token: token, access_token: token, refresh_token: 'r-2' })(one, response)
        : json(LISTED)(one, response);
    const homes = await signIn(tokenUntil(-100));
    const models = await open(homes, {
      appServerBackend: { ...directLogin('chatgpt'), baseUrl, refreshUrl: `${baseUrl}/oauth/token` },
    });
    expect((await idsOf(models)).standard).toBe('gpt-9-nova');
    expect(asked.map(({ url }) => url.split('?')[0])).toEqual(['/oauth/token', '/models']);
    expect(await readFile(path.join(homes.loginHome, 'auth.json'), 'utf8')).toContain('"r-2"');
  });

  it.each<[string, Answer, string]>([
    ['a page instead', (_one, response) => void response.writeHead(403).end('<html>'), 'status 403'],
    ['no list', json({ detail: 'no' }), 'not a list of models'],
    ['an empty list', json({ models: [] }), 'not a list of models'],
    ['a hung up connection', (_one, response) => void response.destroy(), 'other side closed'],
  ])('%s: falls back to the bundled list and reports the reason', async (_what, given, reason) => {
    answer = given;
    const models = await open(await signIn(tokenUntil(DAYS)));
    const { ids, standard } = await idsOf(models);
    expect([ids.includes('gpt-5.5'), standard, troubles.length, JSON.stringify(troubles)]).toEqual([
      true,
      'gpt-6.1-sol',
      1,
      expect.stringContaining(reason),
    ]);
  });

  it('are the last known ones after a start without a network', async () => {
    const homes = await signIn(tokenUntil(DAYS));
    answer = json(LISTED);
    await (await open(homes)).catalogue();
    answer = json({}, 503);
    const models = await open(homes);
    expect(await idsOf(models)).toEqual({ ids: ['gpt-9-nova', 'gpt-5.5'], standard: 'gpt-9-nova' });
    const files = await readdir(path.join(homes.lastingDirectory, 'account-models'));
    // The stored list contains no personal name and no prompt of codex.
    expect(files).toEqual([expect.stringMatching(/^[\da-f]{32}\.json$/)]);
    expect(
      await readFile(path.join(homes.lastingDirectory, 'account-models', files[0] ?? ''), 'utf8'),
    ).not.toContain('You are Codex');
  });
});

const TOOL = {
  type: 'function' as const,
  name: 'f',
  description: 'd',
  inputSchema: { type: 'object', properties: {} },
};

const RESPONSES = { lite: undefined, tools: ['f'], first: 'message', parallel: true, context: undefined };
const CODEX = {
  lite: 'true',
  tools: undefined,
  first: 'additional_tools',
  parallel: false,
  context: 'all_turns',
};

describe('request formats that codex uses with our catalogue', () => {
  it('are codex for models that need it, and responses for their twins and all others', async () => {
    answer = json(LISTED);
    const homes = await signIn(tokenUntil(DAYS));
    const models = await open(homes);
    const catalogue = await models.catalogue();
    const spawn = createWorkerSpawner({
      homes,
      backend: { ...directLogin('chatgpt'), baseUrl },
      catalogue: () => models.catalogue(),
      clientInfo: { name: 'test', title: null, version: '0' },
      onStderr: () => {},
      onListenerError(error) {
        throw error;
      },
    });
    const worker = await spawn();
    closers.push(() => worker.stop());

    const wire = async (model: string) => {
      const arrived = Promise.withResolvers<Asked>();
      answer = (one, response) => {
        if (one.url === '/responses') arrived.resolve(one);
        json({}, one.url === '/responses' ? 400 : 404)(one, response);
      };
      const { thread } = await worker.appServer.request('thread/start', {
        model,
        cwd: directory,
        baseInstructions: '',
        dynamicTools: [TOOL],
        environments: [],
        ephemeral: true,
        approvalPolicy: 'never',
        sandbox: 'read-only',
      });
      await worker.appServer.request('thread/inject_items', {
        threadId: thread.id,
        items: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
      });
      await worker.appServer.request('turn/start', { threadId: thread.id, input: [], summary: 'none' });
      const { body, headers } = await arrived.promise;
      const tools = body['tools'] as readonly JsonObject[] | undefined;
      return {
        model: body['model'],
        instructions: body['instructions'],
        lite: headers['x-openai-internal-codex-responses-lite'],
        tools: tools?.map((tool) => tool['name']),
        first: (body['input'] as readonly JsonObject[])[0]?.['type'],
        parallel: body['parallel_tool_calls'],
        context: (body['reasoning'] as JsonObject)['context'],
      };
    };

    const names = ['gpt-9-nova', 'gpt-6.1-sol', 'gpt-6.1-sol-2027', 'gpt-5.5', 'o3', 'acme/gpt-6.1-sol'];
    for (const name of names) {
      const expected = catalogue.usesCodexFormat(name) ? CODEX : RESPONSES;
      expect(await wire(name)).toEqual({ model: name, instructions: undefined, ...expected });
      const full = catalogue.responsesSlug(name);
      expect(await wire(full)).toEqual({ model: full, instructions: undefined, ...RESPONSES });
    }
    expect(names.filter((name) => catalogue.usesCodexFormat(name))).toEqual([
      'gpt-9-nova',
      'gpt-6.1-sol',
      'gpt-6.1-sol-2027',
    ]);
  }, 60_000);
});
