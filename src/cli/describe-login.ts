import type { LoginFacts } from '../codex/login/read-login.ts';

/** `ChatGPT, a***@example.com, plan plus` */
export const describeLogin = ({ kind, account, plan }: LoginFacts): string =>
  [
    kind === 'chatgpt' ? 'ChatGPT' : 'an API key',
    ...(account === null ? [] : [account]),
    ...(plan === null ? [] : [`plan ${plan}`]),
  ].join(', ');
