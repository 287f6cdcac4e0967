import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  verify,
  type KeyObject,
} from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { textOf } from './rule.ts';
import { accountOf, type Account, type LoginOptions, type ReadToken } from './login.ts';

/** Access tokens of a workspace, as its issuer makes them: personal ones, and those of an agent. */

const DAY_SECONDS = 86_400;
const MAX_SKEW_MS = 5 * 60_000;
const KEY_ID = 'imitation';

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

let serial = 0;
const nextSerial = (): string => {
  serial += 1;
  return `${String(process.pid)}-${String(serial)}`;
};

const expiryOf = ({ expiresInSeconds = DAY_SECONDS }: LoginOptions): number =>
  Math.floor(Date.now() / 1000) + expiresInSeconds;

/** The real ones are opaque; these contain what only the issuer knows. */
export const makePersonalToken = (options: LoginOptions = {}): string =>
  `at-${encode({ ...accountOf({ plan: 'business', ...options }), exp: expiryOf(options), id: nextSerial() })}`;

/** Null if it is not one of ours. */
export const readPersonalToken = (token: string): ReadToken | null => {
  if (!token.startsWith('at-')) return null;
  const known = JSON.parse(Buffer.from(token.slice(3), 'base64url').toString('utf8')) as Account & {
    exp: number;
  };
  return { accountId: known.accountId, plan: known.plan, email: known.email, expiresAt: known.exp };
};

/** One key pair for all tests: making one takes a moment. */
let signing: { readonly publicKey: KeyObject; readonly privateKey: KeyObject } | null = null;
const signingKeys = () => (signing ??= generateKeyPairSync('rsa', { modulusLength: 2048 }));

/** The keys with which codex verifies agent tokens. */
export const agentKeys = (): JsonObject => {
  const { n = '', e = '' } = signingKeys().publicKey.export({ format: 'jwk' });
  return { keys: [{ kty: 'RSA', kid: KEY_ID, use: 'sig', alg: 'RS256', n, e }] };
};

/** A signed token with the private key of its agent. */
export const makeAgentToken = (options: LoginOptions = {}): string => {
  const { accountId, plan, email } = accountOf({ plan: 'business', ...options });
  const agent = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'der' });
  const exp = expiryOf(options);
  const signed = `${encode({ alg: 'RS256', typ: 'JWT', kid: KEY_ID })}.${encode({
    iss: 'https://chatgpt.com/codex-backend/agent-identity',
    aud: 'codex-app-server',
    iat: Math.min(exp, Math.floor(Date.now() / 1000)) - 60,
    exp,
    // The runtime id of this fake contains what the issuer would look up.
    agent_runtime_id: encode({ accountId, plan, email, exp, key: publicKeyOf(agent), id: nextSerial() }),
    agent_private_key: agent.toString('base64'),
    account_id: accountId,
    chatgpt_user_id: `user-of-${accountId}`,
    email,
    plan_type: plan,
    chatgpt_account_is_fedramp: false,
  })}`;
  return `${signed}.${sign('sha256', Buffer.from(signed), signingKeys().privateKey).toString('base64url')}`;
};

const publicKeyOf = (agent: Buffer): string =>
  createPublicKey(createPrivateKey({ key: agent, format: 'der', type: 'pkcs8' }))
    .export({ type: 'spki', format: 'der' })
    .toString('base64');

interface Agent extends Account {
  readonly exp: number;
  readonly key: string;
}

const agentOf = (runtimeId: string): Agent =>
  JSON.parse(Buffer.from(runtimeId, 'base64url').toString('utf8')) as Agent;

const isSigned = (runtimeId: string, text: string, signature: string): boolean => {
  const key = createPublicKey({
    key: Buffer.from(agentOf(runtimeId).key, 'base64'),
    format: 'der',
    type: 'spki',
  });
  return verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64'));
};

export const taskOf = (runtimeId: string): string => `task-of-${runtimeId.slice(-12)}`;

/** `POST …/task/register`: whether the agent itself asks. */
export const isAgentRequest = (runtimeId: string, form: JsonObject): boolean => {
  const timestamp = textOf(form['timestamp']);
  return isRecent(timestamp) && isSigned(runtimeId, `${runtimeId}:${timestamp}`, textOf(form['signature']));
};

/** The account of an `AgentAssertion`; null: it is not valid. */
export const readAssertion = (assertion: string): ReadToken | null => {
  const said = JSON.parse(Buffer.from(assertion, 'base64url').toString('utf8')) as Record<string, string>;
  const { agent_runtime_id: id = '', task_id: task = '', timestamp = '', signature = '' } = said;
  if (task !== taskOf(id) || !isRecent(timestamp) || !isSigned(id, `${id}:${task}:${timestamp}`, signature))
    return null;
  const { accountId, plan, email, exp } = agentOf(id);
  return { accountId, plan, email, expiresAt: exp };
};

const isRecent = (timestamp: string): boolean => Math.abs(Date.parse(timestamp) - Date.now()) < MAX_SKEW_MS;

/** Writes what `codex login --with-access-token` leaves in a `CODEX_HOME`. */
export const writeAccessToken = async (dir: string, token: string): Promise<void> => {
  await mkdir(dir, { recursive: true });
  const auth = token.startsWith('at-')
    ? { OPENAI_API_KEY: null, personal_access_token: token }
    : { auth_mode: 'agentIdentity', OPENAI_API_KEY: null, agent_identity: token };
  await writeFile(path.join(dir, 'auth.json'), JSON.stringify(auth, null, 2), { mode: 0o600 });
};
