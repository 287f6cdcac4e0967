import { request, type Dispatcher } from 'undici';

import { WHOAMI_PATH } from '../../codex/home/access-token.ts';
import { masked } from '../../codex/login/read-login.ts';
import { isJsonObject, parseJsonObject, type Json } from '../../kit/json/json.ts';
import { judgeAnswer, judgeError } from './reach.ts';

/** What the issuer of a personal access token says about it. */
export type TokenOwner =
  | { readonly kind: 'confirmed'; readonly account: string | null; readonly plan: string | null }
  | { readonly kind: 'rejected'; readonly status: number }
  /** `why` names the host and what is wrong with its answer. */
  | { readonly kind: 'unknown'; readonly why: string };

export interface AskOwnerOptions {
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
