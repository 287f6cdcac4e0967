import { writeFile } from 'node:fs/promises';
import path from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import { isJsonObject, type JsonObject } from '../../src/kit/json/json.ts';
import { SCENARIOS, scenarioOf, scenarioScript } from '../clients/codex-scenarios.ts';
import { expectedOf, printed } from '../laws/exact-body.ts';
import { CHATGPT_DIFFERENCES } from '../laws/chatgpt-differences.ts';
import { mapItems, PROVIDER_DIFFERENCES, textOf, without } from '../laws/exact-differences.ts';
import { openThread, startAppServer, type AppServerClient } from '../support/app-server-client.ts';
import { openCodexRoom, openProviderRoom, type CodexRoom } from '../support/codex-exec.ts';
import { hello } from '../support/scripts.ts';
import { startRecordingProxy, type RecordingHop } from '../support/recording-proxy.ts';
import { accountOf, makeTokens } from './login.ts';
import { startChatGptProxy, violationsOf, type ChatGptProxy } from './proxy.ts';
import { LIMITS } from './stream.ts';

/** Codex with us as its provider, and a ChatGPT login as our backend. */
const KEY = 'sk-test-key-0123456789';
let proxy: ChatGptProxy;
let hop: RecordingHop;
const rooms: CodexRoom[] = [];
beforeAll(async () => {
  proxy = await startChatGptProxy({ script });
  hop = await startRecordingProxy(proxy.url);
});
afterAll(async () => {
  await Promise.all(rooms.map((room) => room.close()));
  await hop.close();
  await proxy.close();
});

/** The service compacts conversations itself for a provider called OpenAI. */
const script: Script = (request, connection) => {
  const prompt = JSON.stringify(request.body['input']);
  if (prompt.includes('"compaction_trigger"')) {
    return answer(connection, [{ item: { type: 'compaction', id: 'cmp_1', encrypted_content: 'opaque' } }]);
  }
  return (prompt.includes('"text":"compact') ? hello : scenarioScript)(request, connection);
};

const openRoom = async (model: string, settings = '', name = 'proxy'): Promise<CodexRoom> => {
  const room = await openProviderRoom({ baseUrl: `${hop.url}/v1`, key: KEY, model, name, settings });
  rooms.push(room);
  return room;
};

describe.concurrent("the content of codex's requests", () => {
  it.each(SCENARIOS.filter(({ name }) => name === 'tools' || name === 'namespaces'))(
    'reaches the service: $name',
    async (scenario) => {
      const room = await openRoom(scenario.model);
      for (const words of (await scenario.runs?.(room)) ?? []) {
        expect(await room.exec(...words)).toMatchObject({ code: 0, out: 'Done.\n' });
      }
      const isOurs = ({ body }: { readonly body: JsonObject }): boolean =>
        body['input'] !== undefined &&
        !JSON.stringify(body['input']).includes('"text":"compact') &&
        scenarioOf(body) === scenario;
      const sent = hop.seen.filter(isOurs);
      const arrived = proxy.backend.modelRequests.filter(isOurs);
      expect(sent.map(({ answered }) => answered.get('x-proxy-ignored-params'))).toEqual(
        scenario.rounds.map(() => null),
      );
      // In the codex format nothing else differs.
      const isCodexFormat = arrived[0]?.headers['x-openai-internal-codex-responses-lite'] === 'true';
      expect(isCodexFormat).toBe(scenario.name === 'namespaces');
      const rows = isCodexFormat ? PROVIDER_DIFFERENCES : CHATGPT_DIFFERENCES;
      const expected = sent.map(({ body }, index) => expectedOf(body, arrived[index]?.body ?? {}, rows));
      expect(arrived.map(({ body }) => printed(withoutToolsId(body)))).toEqual(
        expected.map((body) => printed(withoutToolsId(body))),
      );
      expect(violationsOf(proxy.backend)).toEqual([]);
    },
  );
});

/** The id of the tools item in the codex format is the app-server's own. */
const withoutToolsId = (body: JsonObject): JsonObject =>
  mapItems(body, (item) => (item['type'] === 'additional_tools' ? without(item, 'id') : item));

/** A login in the form that codex requires before it asks for limits; its token for us is our key. */
const writeProxyLogin = async ({ home }: CodexRoom): Promise<void> => {
  const { id_token } = makeTokens(accountOf({}));
  const tokens = { id_token, access_token: KEY, refresh_token: '', account_id: 'proxy' };
  const login = { auth_mode: 'chatgpt', tokens, last_refresh: new Date().toISOString() };
  await writeFile(path.join(home, 'auth.json'), JSON.stringify(login));
};

describe.concurrent('a codex app-server with this server as its backend', () => {
  const LIMITS_SHOWN = {
    limitId: 'codex',
    primary: {
      usedPercent: LIMITS.primaryUsedPercent,
      windowDurationMins: LIMITS.primaryWindowMinutes,
      resetsAt: LIMITS.primaryResetAt,
    },
    secondary: {
      usedPercent: LIMITS.secondaryUsedPercent,
      windowDurationMins: LIMITS.secondaryWindowMinutes,
      resetsAt: LIMITS.secondaryResetAt,
    },
    credits: { hasCredits: false, unlimited: false, balance: null },
    planType: 'plus',
    rateLimitReachedType: null,
  };

  const withAppServer = async (room: CodexRoom, use: (client: AppServerClient) => Promise<void>) => {
    const client = await startAppServer(room);
    try {
      await use(client);
    } finally {
      await client.close();
    }
  };

  it.each(['/backend-api', ''])('shows the limits of the account: chatgpt_base_url with %j', async (base) => {
    const room = await openRoom('gpt-5.5', `chatgpt_base_url = "${hop.url}${base}"`);
    await writeProxyLogin(room);
    await withAppServer(room, async (client) => {
      expect(await client.call('account/rateLimits/read', {})).toMatchObject({ rateLimits: LIMITS_SHOWN });
    });
  });

  it('compacts a conversation like the service, and continues it', async () => {
    const room = await openRoom('gpt-6.1-sol', '', 'OpenAI');
    await withAppServer(room, async (client) => {
      const { id, run, say } = await openThread(client);
      const ends = [
        await say('compact, first'),
        await run('thread/compact/start'),
        await say('compact, second'),
      ];
      expect(ends).toEqual(['completed', 'completed', 'completed']);
      const asked = proxy.backend.modelRequests.filter(({ body }) => body['prompt_cache_key'] === id);
      const types = asked.map(({ body }) => (body['input'] as readonly JsonObject[]).map(({ type }) => type));
      expect(types.map((one) => one.filter((type) => textOf(type).startsWith('compaction')))).toEqual([
        [],
        ['compaction_trigger'],
        ['compaction'],
      ]);
    });
  });

  it('shows the models of the account', async () => {
    const room = await openCodexRoom(
      `chatgpt_base_url = "${hop.url}/backend-api"\nopenai_base_url = "${hop.url}/backend-api/codex"\n`,
    );
    rooms.push(room);
    await writeProxyLogin(room);
    await withAppServer(room, async (client) => {
      const { data } = await client.call('model/list', {});
      const listed = (Array.isArray(data) ? data.filter(isJsonObject) : []).map(({ id }) => id);
      const { json } = await proxy.get('/v1/models');
      const ours = (json['data'] as readonly JsonObject[]).filter((model) => model['alias_of'] === undefined);
      expect(listed).toEqual(ours.map(({ id }) => id));
      const asked = hop.seen.filter((seen) => seen.path.startsWith('/backend-api/codex/models?'));
      expect(new Set(asked.map(({ status }) => status))).toEqual(new Set([200]));
    });
  });
});
