import { hostname } from 'node:os';
import { randomBytes } from 'node:crypto';
import { request as askHttp, type IncomingMessage } from 'node:http';
import { request as askHttps } from 'node:https';

import { FAMILY } from '../../canonical/models/model-names.ts';
import type { Config } from '../../config/schema.ts';
import { readApiKey } from '../../http/guards/own-secrets.ts';
import { isJsonObject, parseJsonObject, textIn, type JsonObject } from '../../kit/json/json.ts';
import { PlainError, addressOf, type ListenAddress } from '../explain.ts';
import type { KeptKey, Records } from './record.ts';
import {
  USUAL_OUTPUT,
  USUAL_WINDOW,
  type ModelFacts,
  type ServerFacts,
  type ServerKey,
} from '../../connect/client.ts';
import { KEY_PROOF_PATH, proofKeyOf, proofOf } from '../../features/keys/key-secret.ts';
import { socketAddress } from '../../http/exchange/connection-info.ts';

const LIMIT_MS = 5_000;

interface FoundServer {
  readonly facts: ServerFacts;
  /** Sentences for the user about what is not as usual. */
  readonly notes: readonly string[];
}

interface ServerChoice {
  /** Null: the one of the settings. */
  readonly url: string | null;
  /** How to start the server. */
  readonly startCommand: string;
}

interface ServerSearch extends ServerChoice {
  readonly client: string;
  readonly model: string | null;
  /** The workspaces that the key may use; null: it needs none. */
  readonly workspaces: readonly string[] | null;
  /** Where the key of the client is kept. */
  readonly records: Records;
  readonly agrees: (question: string) => Promise<boolean>;
}

/**
 * Address and model of the server, and a key for the client. Throws if there is no key, if the server rejects it, or if a
 * program on this machine does not prove that it knows it. Null: the user does not trust that program either.
 */
export const findServer = async (config: Config, wanted: ServerSearch): Promise<FoundServer | null> => {
  const url = wanted.url === null ? ownUrl(config.http) : givenUrl(wanted.url);
  const own = await ownKeyOf(config, url, wanted.startCommand);
  const proof = isThisMachine(url, addressOf(config.http)) ? await askProof(url, own.key) : 'proven';
  if (typeof proof === 'object') {
    if (wanted.url === null)
      throw new PlainError(
        `${proof.problem} Nothing was sent to it. Start this server (${wanted.startCommand}), or name its address with --url.`,
      );
    if (!(await wanted.agrees(`${proof.problem} Send it the key?`))) return null;
  }
  // A Claude name means the default model, and is not in the list of models.
  const isListed = wanted.model !== null && !/claude/i.test(wanted.model);
  const model = isListed ? wanted.model : FAMILY;
  const kept = await wanted.records.readKey(url);
  if (proof === 'silent') return silentServer(url, kept, wanted);
  const known = kept === null ? 'rejected' : await askModel(url, kept, model);
  if (kept !== null && known !== 'rejected') {
    await allowWorkspaces(url, own, kept, wanted);
    return foundServer(url, kept, known, wanted);
  }
  const made = await makeKey(url, own, wanted);
  if (made === null) return silentServer(url, null, wanted);
  const asked = await askModel(url, made, model);
  if (asked === 'rejected') throw new PlainError(`The server at ${url} does not accept this key.`);
  const found = foundServer(url, made, asked, wanted);
  return { ...found, notes: [...made.notes, ...found.notes] };
};

/**
 * Address and key of the server, for a command that talks to it itself. Throws if nothing answers there, and if the key of
 * this installation would go to a program that does not prove that it knows it.
 */
export const reachServer = async (
  config: Config,
  { url: given, startCommand }: ServerChoice,
): Promise<{ readonly url: string; readonly key: string }> => {
  const url = given === null ? ownUrl(config.http) : givenUrl(given);
  const { key, keyFile } = await ownKeyOf(config, url, startCommand);
  const proof = isThisMachine(url, addressOf(config.http))
    ? await askProof(url, key)
    : await askHealth(url, key);
  if (proof === 'silent')
    throw new PlainError(`No server answers at ${url}. Start it first: ${startCommand}`);
  // The user has chosen a key that is set. It may be a named one, which the server does not prove to know.
  if (typeof proof === 'object' && keyFile !== null)
    throw new PlainError(`${proof.problem} Nothing was sent to it. Start this server: ${startCommand}`);
  return { url, key };
};

const askHealth = async (url: string, key: string): Promise<'proven' | 'silent'> =>
  (await callServer('GET', `${url}/healthz`, key)) === null ? 'silent' : 'proven';

const foundServer = (
  url: string,
  { key, keyFile }: ServerKey,
  asked: JsonObject | null,
  wanted: ServerSearch,
): FoundServer => {
  const model = modelFacts(asked, wanted.model);
  return { facts: { url, key, keyFile, model }, notes: asked === null ? [silentNote(url, model)] : [] };
};

/** The key of an earlier run gets the workspaces that are named now. */
const allowWorkspaces = async (
  url: string,
  own: ServerKey,
  { id }: KeptKey,
  { workspaces }: ServerSearch,
): Promise<void> => {
  if (workspaces === null || workspaces.length === 0) return;
  const path = `/v1/codex/keys/${encodeURIComponent(id)}`;
  const changed = await callServer('POST', `${url}${path}`, own.key, { workspaces });
  if (changed?.status === 200) return;
  const { message } = errorIn(changed?.body ?? {});
  throw new PlainError(`The key of this client could not be given these workspaces. ${message}`.trim());
};

const silentServer = (url: string, kept: ServerKey | null, wanted: ServerSearch): FoundServer => {
  if (kept === null)
    throw new PlainError(
      `No server answers at ${url}. It has to make a key for this client: start it first (${wanted.startCommand}).`,
    );
  return foundServer(url, kept, null, wanted);
};

/** Longer names are not accepted. */
const MAX_NAME_CHARS = 100;

/** Makes a named key that can only run turns. Null: there is no answer. */
const makeKey = async (
  url: string,
  own: ServerKey,
  { client, workspaces, records }: ServerSearch,
): Promise<(ServerKey & Pick<FoundServer, 'notes'>) | null> => {
  const name = `connect: ${client} on ${hostname()}`.slice(0, MAX_NAME_CHARS);
  const policy = {
    scopes: ['infer'],
    // An older server does not know the field.
    ...(workspaces === null || workspaces.length === 0 ? {} : { workspaces }),
  };
  const made = await callServer('POST', `${url}/v1/codex/keys`, own.key, { name, ...policy });
  if (made === null) return null;
  const { status, body } = made;
  const { code, message } = errorIn(body);
  const [id, key] = [textIn(body, 'id'), textIn(body, 'key')];
  if (status === 200 && id !== '' && key !== '') {
    const other = await records.readKey();
    return {
      ...(await records.keepKey({ url, id, name, key })),
      notes: [
        ...(other === null || other.url === url ? [] : [otherNote(other)]),
        ...(workspaces?.length === 0 ? [NO_WORKSPACE_NOTE] : []),
      ],
    };
  }
  if (status === 401)
    throw new PlainError(`The server at ${url} does not accept this key. ${message}`.trim());
  // The key that the user gave is a limited one itself.
  if (status === 403 && code === 'missing_scope') return { ...own, notes: [] };
  if (status === 404) return { ...own, notes: [noKeyNote(url)] };
  throw new PlainError(`The server at ${url} made no key for this client (${status}). ${message}`.trim());
};

/** Revokes the key of a client. False: it still works. */
export const revokeKey = async (
  config: Config,
  { url, id }: KeptKey,
  startCommand: string,
): Promise<boolean> => {
  try {
    const own = await ownKeyOf(config, url, startCommand);
    const isOwn = isThisMachine(url, addressOf(config.http));
    if (isOwn && (await askProof(url, own.key)) !== 'proven') return false;
    const path = `/v1/codex/keys/${encodeURIComponent(id)}`;
    return (await callServer('DELETE', `${url}${path}`, own.key))?.status === 200;
  } catch (error) {
    if (error instanceof PlainError) return false;
    throw error;
  }
};

const ownUrl = (http: ListenAddress): string => {
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
const ownKeyOf = async (config: Config, url: string, startCommand: string): Promise<ServerKey> => {
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
  const host = new URL(url).hostname;
  return LOOPBACK_NAME.test(host) || host === new URL(own).hostname;
};

const LOOPBACK_NAME = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

interface ServerAnswer {
  readonly status: number;
  /** Empty if it is not a JSON object. */
  readonly body: JsonObject;
}

/** Null: no answer in time. */
const callServer = (
  method: 'GET' | 'POST' | 'DELETE',
  url: string,
  key: string,
  body?: JsonObject,
): Promise<ServerAnswer | null> =>
  fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    redirect: 'error',
    signal: AbortSignal.timeout(LIMIT_MS),
  })
    .then(async (response) => ({
      status: response.status,
      body: parseJsonObject(await response.text()) ?? {},
    }))
    .catch(() => null);

const errorIn = ({ error }: JsonObject): { readonly code: string; readonly message: string } => {
  const said = isJsonObject(error) ? error : {};
  return { code: textIn(said, 'code'), message: textIn(said, 'message') };
};

/** The model as the server describes it. Null: there is no answer. */
const askModel = async (
  url: string,
  { key }: ServerKey,
  model: string,
): Promise<JsonObject | 'rejected' | null> => {
  const answer = await callServer('GET', `${url}/v1/models/${encodeURIComponent(model)}`, key);
  if (answer === null) return null;
  const { code, message } = errorIn(answer.body);
  if (code === 'key_paused') throw new PlainError(`The key of this client is paused. ${message}`);
  if (answer.status === 401) return 'rejected';
  if (answer.status === 404 && isJsonObject(answer.body['error']))
    throw new PlainError(`The server at ${url} has no model ${model}: GET ${url}/v1/models lists them.`);
  return answer.status === 200 ? answer.body : null;
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

const noKeyNote = (url: string): string =>
  `The server at ${url} cannot make a key for this client: it stores nothing (PROXY_STORE=off), or is an older version. ` +
  'The client gets the key that you use yourself, which may do more than the client needs.';

const NO_WORKSPACE_NOTE =
  'The key of this client may use no workspace, so the client gets the tools ask and review, and not codex. With --workspaces and their names, or *, it gets all.';

const otherNote = ({ url, name, id }: KeptKey): string =>
  `The key ${JSON.stringify(name)} (${id}) of the server at ${url}, which this client had before, still works there.`;

const silentNote = (url: string, { id, contextWindow }: ModelFacts): string =>
  `No server answers at ${url}: assuming the model ${id} with ${contextWindow.toLocaleString('en')} tokens. ` +
  'Run this command again while it runs, if that is wrong.';

const PROOF_LIMIT_MS = 5_000;
const MAX_ANSWER_CHARS = 64 * 1024;
/** A key with its 43 characters of base64url. */
const MAX_SALT_CHARS = 64;

/** `silent`: no program listens there. Otherwise a sentence that says why the program there cannot be trusted. */
type Proof = 'proven' | 'silent' | { readonly problem: string };

/** Asks what listens at an address on this machine to prove that it knows the key. The question contains no secret. */
const askProof = async (url: string, key: string): Promise<Proof> => {
  const nonce = randomBytes(32).toString('base64url');
  const answer = await ask(`${url}${KEY_PROOF_PATH}?nonce=${nonce}`);
  if (answer === null) return 'silent';
  if (answer.status === 429)
    return { problem: `The server at ${url} was asked too often: try again in a minute.` };
  if (answer.status === 503) return { problem: `The server at ${url} is starting or stopping: try again.` };
  const body = parseJsonObject(answer.text) ?? {};
  const [address, salt] = [textIn(body, 'address'), textIn(body, 'salt').slice(0, MAX_SALT_CHARS)];
  const proof = proofOf(await proofKeyOf(key, salt), nonce, address);
  const isKnown = Array.isArray(body['proofs']) && body['proofs'].includes(proof);
  if (!isKnown) return { problem: UNKNOWN(url) };
  if (address === answer.address) return 'proven';
  return { problem: `The program at ${url} is not this server: it passes requests on to it, at ${address}.` };
};

const UNKNOWN = (url: string): string =>
  `The program at ${url} does not prove that it knows the key of this server: it may be another program, a server with other keys, or an older version.`;

interface Answer {
  readonly status: number;
  readonly text: string;
  /** The address that was reached. */
  readonly address: string | null;
}

/** Null: no connection. An answer that is too long, or does not come in time, is empty. */
const ask = (url: string): Promise<Answer | null> =>
  new Promise((resolve) => {
    let isConnected = false;
    const asking = (url.startsWith('https:') ? askHttps : askHttp)(url, {
      agent: false,
      // The server answers no program that names another host: DNS may lead the page of a browser to it.
      headers: { host: 'localhost' },
      signal: AbortSignal.timeout(PROOF_LIMIT_MS),
    });
    asking.on('socket', (socket) => socket.on('connect', () => (isConnected = true)));
    asking.on('error', () => resolve(isConnected ? { status: 0, text: '', address: null } : null));
    asking.on('response', (response) => {
      const { remoteAddress, remotePort } = response.socket;
      const address = socketAddress(remoteAddress, remotePort);
      const status = response.statusCode ?? 0;
      readText(response).then(
        (text) => resolve({ status, text, address }),
        () => resolve({ status: 0, text: '', address }),
      );
    });
    asking.end();
  });

const readText = async (response: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) {
    text += chunk as string;
    if (text.length > MAX_ANSWER_CHARS) {
      response.destroy();
      return '';
    }
  }
  return text;
};
