import type { App } from './app.ts';

/** What a person sees at the start: what answers, where, with which key, and what to try. */
export const banner = (app: Pick<App, 'backend' | 'howToSignIn' | 'ownKey'>, url: string): string => {
  const signIn =
    app.howToSignIn === null
      ? []
      : [
          `  To sign in, ${app.howToSignIn}`,
          '  To use a login that you have: CODEX_HOME=~/.codex npm start',
          '',
        ];
  return [
    '',
    '  codex-app-server-proxy',
    `  URL      ${url}/v1`,
    `  key      ${app.ownKey ?? 'one of PROXY_API_KEY'}`,
    `  backend  ${app.backend}`,
    '',
    '  Try it:',
    `    curl ${url}/v1/responses -H "Authorization: Bearer ${app.ownKey ?? '<key>'}" \\`,
    `      -H "Content-Type: application/json" -d '{"model":"codex-5","input":"Say hello."}'`,
    '',
    ...signIn,
    '',
  ].join('\n');
};
