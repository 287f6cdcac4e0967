import type { LoginFacts } from '../codex/login/read-login.ts';

/** `ChatGPT, a***@example.com, plan plus` */
export const describeLogin = ({ kind, accessToken, account, plan }: LoginFacts): string =>
  [
    nameOf(kind, accessToken !== null),
    ...(account === null ? [] : [account]),
    ...(plan === null ? [] : [`plan ${plan}`]),
  ].join(', ');

const nameOf = (kind: LoginFacts['kind'], isAccessToken: boolean): string => {
  if (isAccessToken) return 'ChatGPT access token';
  return kind === 'chatgpt' ? 'ChatGPT' : 'an API key';
};
