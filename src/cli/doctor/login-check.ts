import path from 'node:path';

import { request, type Dispatcher } from 'undici';

import { exists } from '../../codex/home/files.ts';
import { readLoginFile } from '../../codex/home/login-file.ts';
import { accessTokenIn, accessTokenKind, authOf, WHOAMI_PATH } from '../../codex/home/access-token.ts';
import { readLogin, TOKEN_ENDS_SOON_MS, type LoginFacts, masked } from '../../codex/login/read-login.ts';
import type { Config } from '../../config/schema.ts';
import { describeLogin, loginHomeOf } from '../login.ts';
import { ok, problem, skipped, warning, type Check, type Finding } from './finding.ts';
import { isOpenToOthers } from './machine.ts';
import { shownTime } from '../../kit/text/display.ts';
import { isJsonObject, parseJsonObject, type Json } from '../../kit/json/json.ts';
import { judgeAnswer, judgeError } from './reach.ts';

interface LoginCheckOptions {
  readonly config: Config;
  readonly now: Date;
  /** The command that signs in. */
  readonly loginCommand: string;
  /** The same with an access token. */
  readonly tokenCommand: string;
  /** Asks the issuer of a personal access token. */
  readonly askOwner: (token: string, signal: AbortSignal) => Promise<TokenOwner>;
}

export const loginCheck = ({
  config,
  now,
  loginCommand,
  tokenCommand,
  askOwner,
}: LoginCheckOptions): Check => ({
  name: 'login',
  limitMs: 10_000,
  run: async (signal) => {
    if (config.upstream.baseUrl !== null) return skipped('not needed: PROXY_UPSTREAM_BASE_URL is set');
    const token = config.upstream.accessToken;
    if (token !== null) {
      const owner = accessTokenKind(token) === 'personal' ? await askOwner(token, signal) : null;
      return judgeToken(readLogin(authOf(token)), owner, { now, place: 'in CODEX_ACCESS_TOKEN', ...REPLACE });
    }
    const home = loginHomeOf(config);
    const signIn = `run ${loginCommand}`;
    const isNamed = config.upstream.codexHome !== null;
    if (isNamed && !(await exists(home)))
      return problem(`CODEX_HOME=${home} does not exist`, 'correct the path, or unset CODEX_HOME');
    const file = path.join(home, 'auth.json');
    const found = await readLoginFile(file);
    if (found.kind === 'refused') return problem(found.why, signIn);
    const text = found.kind === 'text' ? found.text : null;
    const facts = text === null ? null : readLogin(text);
    if (facts === null) {
      const says = text === null ? `no login in ${home}` : `${file} contains no login`;
      // codex may also keep it in a keyring, which is not read here.
      if (isNamed || !config.upstream.demoEnabled || text !== null) return problem(says, signIn);
      return warning(`${says}: the demo model answers`, signIn);
    }
    if (await isOpenToOthers(file)) return warning(`other users can read ${file}`, `chmod 600 ${file}`);
    const kept = accessTokenIn(text ?? '');
    if (kept === null) return judgeLogin(facts, { now, signIn });
    const owner = kept.kind === 'personal' ? await askOwner(kept.token, signal) : null;
    const advice = `create a new one at ${TOKENS_PAGE} and run ${tokenCommand}`;
    return judgeToken(facts, owner, { now, place: `in ${file}`, advice });
  },
});

/** Where people create access tokens. */
const TOKENS_PAGE = 'https://chatgpt.com/admin/access-tokens';
const REPLACE = { advice: `create a new one at ${TOKENS_PAGE} and set CODEX_ACCESS_TOKEN to it` };

interface TokenPlace {
  readonly now: Date;
  readonly place: string;
  /** How to replace it. */
  readonly advice: string;
}

/** Pure. `owner` is null for an agent token, which contains everything. */
export const judgeToken = (
  facts: LoginFacts | null,
  owner: TokenOwner | null,
  { now, place, advice }: TokenPlace,
): Finding => {
  if (facts === null) return problem(`the access token ${place} cannot be read`, advice);
  const known = owner?.kind === 'confirmed' ? { ...facts, account: owner.account, plan: owner.plan } : facts;
  const { kind, accessToken, plan, account, expiresAt } = known;
  const about = {
    kind,
    accessToken,
    plan,
    account,
    expiresAt: expiresAt?.toISOString() ?? null,
    canRefresh: false,
  };
  const who = `${describeLogin(known)} (${place})`;
  if (owner?.kind === 'rejected')
    return problem(`${who}: rejected, because it has expired or was revoked`, advice, about);
  if (owner?.kind === 'unknown')
    return warning(
      `${who}: could not be checked: ${owner.why}`,
      'check the network; see docs/operating.md',
      about,
    );
  if (expiresAt === null)
    return ok(
      `${who}; accepted. It cannot be renewed here, and only its issuer knows when it expires`,
      about,
    );
  if (expiresAt <= now)
    return problem(`${who}: expired ${shownTime(expiresAt)} and cannot be renewed here`, advice, about);
  const until = `valid until ${shownTime(expiresAt)}, cannot be renewed here`;
  return expiresAt.getTime() - now.getTime() < TOKEN_ENDS_SOON_MS
    ? warning(`${who}: ${until}`, advice, about)
    : ok(`${who}; ${until}`, about);
};

/** Pure. Reads the dates in the tokens; sends nothing. */
export const judgeLogin = (
  facts: LoginFacts,
  { now, signIn }: { readonly now: Date; readonly signIn: string },
): Finding => {
  const { kind, plan, account, expiresAt, canRefresh, paidUntil } = facts;
  const about = { kind, plan, account, expiresAt: expiresAt?.toISOString() ?? null, canRefresh };
  const who = describeLogin(facts);
  if (kind === 'api-key') return ok(who, about);
  const isOver = expiresAt !== null && expiresAt <= now;
  if (!canRefresh) {
    return isOver
      ? problem(`${who}: expired ${shownTime(expiresAt)} and cannot be renewed`, signIn, about)
      : warning(`${who}: cannot be renewed when it expires`, signIn, about);
  }
  if (paidUntil !== null && paidUntil <= now) {
    const says = `${who}: paid until ${shownTime(paidUntil)}, when it was last renewed`;
    return warning(says, 'check the subscription if requests fail', about);
  }
  if (expiresAt === null) return ok(who, about);
  const renewal = isOver ? 'renewed with the next request' : 'then renewed automatically';
  return ok(`${who}; valid until ${shownTime(expiresAt)}, ${renewal}`, about);
};

/** What the issuer of a personal access token says about it. */
export type TokenOwner =
  | { readonly kind: 'confirmed'; readonly account: string | null; readonly plan: string | null }
  | { readonly kind: 'rejected'; readonly status: number }
  /** `why` names the host and what is wrong with its answer. */
  | { readonly kind: 'unknown'; readonly why: string };

interface AskOwnerOptions {
  /** Where access tokens are checked. */
  readonly authApiUrl: string;
  readonly openDispatcher: (url: string) => Promise<Dispatcher>;
  readonly signal: AbortSignal;
}

const MAX_TEXT = 4_000;

/** The request that codex sends at its start. It costs nothing. */
export const askOwner = async (
  token: string,
  { authApiUrl, openDispatcher, signal }: AskOwnerOptions,
): Promise<TokenOwner> => {
  const url = `${authApiUrl}${WHOAMI_PATH}`;
  const { host } = new URL(url);
  const dispatcher = await openDispatcher(url);
  try {
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
    const answer = await request(url, { dispatcher, signal, headers });
    let text = '';
    for await (const chunk of answer.body) {
      text += String(chunk);
      if (text.length > MAX_TEXT) break;
    }
    const about = parseJsonObject(text);
    if (answer.statusCode < 300 && about !== null) {
      const email = textOf(about['email']);
      const account = email === null ? null : masked(email);
      return { kind: 'confirmed', account, plan: textOf(about['chatgpt_plan_type']) };
    }
    if (answer.statusCode === 401) return { kind: 'rejected', status: answer.statusCode };
    const seen = { status: answer.statusCode, headers: headersOf(answer.headers), text };
    const { grade, says } = judgeAnswer(host, seen);
    return {
      kind: 'unknown',
      why: grade === 'ok' ? `${host} answered ${answer.statusCode}${quoted(about)}` : says,
    };
  } catch (error) {
    return { kind: 'unknown', why: judgeError(host, error).says };
  } finally {
    await dispatcher.destroy();
  }
};

const textOf = (value: Json | undefined): string | null =>
  typeof value === 'string' && value !== '' ? value : null;

const quoted = (about: ReturnType<typeof parseJsonObject>): string => {
  const error = about?.['error'];
  const message = isJsonObject(error) ? textOf(error['message']) : null;
  return message === null ? '' : `: ${message}`;
};

const headersOf = (headers: Dispatcher.ResponseData['headers']): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
