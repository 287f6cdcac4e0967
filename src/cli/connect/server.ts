import { FAMILY } from '../../canonical/models/model-names.ts';
import type { Config } from '../../config/schema.ts';
import { readApiKey } from '../../http/guards/api-key-file.ts';
import { isJsonObject, parseJsonObject, textIn, type JsonObject } from '../../kit/json/json.ts';
import { PlainError } from '../explain.ts';
import { addressOf } from '../server-address.ts';
import { USUAL_OUTPUT, USUAL_WINDOW, type ModelFacts, type ServerFacts } from '../../connect/client.ts';

const LIMIT_MS = 5_000;

export interface FoundServer {
  readonly facts: ServerFacts;
  /** A sentence for the user if the server could not be asked. */
  readonly note: string | null;
}

interface Wanted {
  readonly url: string | null;
  readonly model: string | null;
  /** How to start the server. */
  readonly startCommand: string;
}

/** Address, key and model of the server, for clients. Throws if there is no key, or the server rejects it. */
export const findServer = async (config: Config, wanted: Wanted): Promise<FoundServer> => {
  const url = wanted.url === null ? ownUrl(config.http) : givenUrl(wanted.url);
  const key = await keyOf(config, url, wanted.startCommand);
  // A Claude name means the default model, and is not in the list of models.
  const isListed = wanted.model !== null && !/claude/i.test(wanted.model);
  const asked = await askModel(url, key.key, isListed ? wanted.model : FAMILY);
  const model = modelFacts(asked, wanted.model);
  return { facts: { url, ...key, model }, note: asked === null ? silentNote(url, model) : null };
};

const ownUrl = (http: Pick<Config['http'], 'host' | 'port'>): string => {
  if (http.port === 0)
    throw new PlainError('With PORT=0 the address changes with each start: name it with --url.');
  return addressOf(http);
};

/** With or without `/v1`. */
const givenUrl = (text: string): string => {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new PlainError('--url needs an address such as http://127.0.0.1:11435.');
  if (url.username !== '' || url.password !== '')
    throw new PlainError('--url must not contain a password: the key of the server goes into PROXY_API_KEY.');
  return url.href.replace(/\/+$/, '').replace(/\/v1$/, '');
};

/** The key in the state directory is that of the server on this machine, and goes to no other one. */
const keyOf = async (
  config: Config,
  url: string,
  startCommand: string,
): Promise<Pick<ServerFacts, 'key' | 'keyFile'>> => {
  const [configured] = config.http.apiKeys;
  if (configured !== undefined) return { key: configured, keyFile: null };
  if (!isThisMachine(url, addressOf(config.http)))
    throw new PlainError(`Set PROXY_API_KEY to the key of the server at ${url}.`);
  const own = await readApiKey(config.state.dir).catch((error: unknown) => {
    throw new PlainError(error instanceof Error ? error.message : String(error), { cause: error });
  });
  if (own === null)
    throw new PlainError(`The server has no key yet: start it once (${startCommand}), or set PROXY_API_KEY.`);
  return { key: own.key, keyFile: own.file };
};

const isThisMachine = (url: string, own: string): boolean => {
  const { hostname } = new URL(url);
  return LOOPBACK_NAME.test(hostname) || hostname === new URL(own).hostname;
};

const LOOPBACK_NAME = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** The model as the server describes it; null if there is no answer. */
const askModel = async (url: string, key: string, model: string): Promise<JsonObject | null> => {
  const answer = await fetch(`${url}/v1/models/${encodeURIComponent(model)}`, {
    headers: { authorization: `Bearer ${key}` },
    redirect: 'error',
    signal: AbortSignal.timeout(LIMIT_MS),
  })
    .then(async (response) => ({ status: response.status, body: parseJsonObject(await response.text()) }))
    .catch(() => null);
  if (answer?.status === 401) throw new PlainError(`The server at ${url} does not accept this key.`);
  if (answer?.status === 404 && isJsonObject(answer.body?.['error']))
    throw new PlainError(`The server at ${url} has no model ${model}: GET ${url}/v1/models lists them.`);
  return answer?.status === 200 ? answer.body : null;
};

const modelFacts = (asked: JsonObject | null, chosen: string | null): ModelFacts => {
  const said = asked ?? {};
  // The name behind the default model: clients know some names, and behave accordingly.
  const id = chosen ?? (textIn(said, 'alias_of') || FAMILY);
  return {
    id,
    isChosen: chosen !== null,
    title: textIn(said, 'display_name') || id,
    contextWindow: tokensIn(said, 'context_window') ?? USUAL_WINDOW,
    maxOutputTokens: tokensIn(said, 'max_output_tokens') ?? USUAL_OUTPUT,
  };
};

const tokensIn = (object: JsonObject, key: string): number | null => {
  const value = object[key];
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null;
};

const silentNote = (url: string, { id, contextWindow }: ModelFacts): string =>
  `No server answers at ${url}: assuming the model ${id} with ${contextWindow.toLocaleString('en')} tokens. ` +
  'Run this command again while it runs, if that is wrong.';
