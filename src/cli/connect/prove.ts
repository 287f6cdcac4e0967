import { randomBytes } from 'node:crypto';
import { request as askHttp, type IncomingMessage } from 'node:http';
import { request as askHttps } from 'node:https';

import { KEY_PROOF_PATH, proofKeyOf, proofOf } from '../../features/keys/key-secret.ts';
import { socketAddress } from '../../http/exchange/connection-info.ts';
import { parseJsonObject, textIn } from '../../kit/json/json.ts';

const LIMIT_MS = 5_000;
const MAX_ANSWER_CHARS = 64 * 1024;
/** A key with its 43 characters of base64url. */
const MAX_SALT_CHARS = 64;

/** `silent`: no program listens there. Otherwise a sentence that says why the program there cannot be trusted. */
export type Proof = 'proven' | 'silent' | { readonly problem: string };

/** Asks what listens at an address on this machine to prove that it knows the key. The question contains no secret. */
export const askProof = async (url: string, key: string): Promise<Proof> => {
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
      signal: AbortSignal.timeout(LIMIT_MS),
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
