import path from 'node:path';

import { openCodexBinary } from '../codex/binary.ts';
import type { SignIn } from '../codex/login/sign-in.ts';
import type { Config } from '../config/schema.ts';
import type { CommandContext } from './read-command-line.ts';
import { commandLine, thisInvocation } from './invocation.ts';
import { loadSettings } from './explain.ts';
import type { LoginFacts } from '../codex/login/read-login.ts';

/** The home whose login the server would use. `~/.codex` is only used if configured. */
export const loginHomeOf = (config: Config): string =>
  config.upstream.codexHome ?? path.join(config.state.dir, 'codex');

export const signInOptions = async (world: CommandContext): Promise<SignIn & { readonly config: Config }> => {
  const { environment } = world;
  const config = await loadSettings(environment);
  const device = commandLine(thisInvocation(environment), 'login', '--device');
  return {
    config,
    binary: await openCodexBinary(config.codex.binary),
    stateDir: config.state.dir,
    loginHome: loginHomeOf(config),
    environment,
    stdio: 'inherit',
    onErrorLine: (line) => world.say(withOurCommand(line, device)),
  };
};

/** Replaces codex's own command, which users of this server may not have. */
export const withOurCommand = (line: string, device: string): string =>
  line.replace('codex login --device-auth', () => device);

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
