import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { readLogin, type LoginFacts } from '../codex/login/read-login.ts';
import { signIn, signOut, type SignIn } from '../codex/login/sign-in.ts';
import { overridesLogin } from '../compose/active-backend.ts';
import type { Flags, RunCommand, CommandContext } from './read-command-line.ts';
import { openCodexBinary } from '../codex/binary.ts';
import type { Config } from '../config/schema.ts';
import { commandLine, thisInvocation } from './invocation.ts';
import { loadSettings } from './explain.ts';

/** The exit code of a program ended by Ctrl-C. */
const INTERRUPTED = 130;

/** codex names the URL that it could not reach, but not the remedy. */
const NETWORK =
  'If auth.openai.com could not be reached: set HTTPS_PROXY, and SSL_CERT_FILE for certificates.\n';

export const login: RunCommand = async (flags, world) => {
  const { config, ...options } = await signInOptions(world);
  world.say(`Signing in for ${options.loginHome}\n`);
  const code = await signIn(options, codexFlags(flags));
  if (code !== 0) {
    world.say('Not signed in; nothing has changed.\n');
    if (code !== INTERRUPTED) world.say(NETWORK);
    return code;
  }
  const facts = readLogin(await readFile(path.join(options.loginHome, 'auth.json'), 'utf8'));
  world.say(`Signed in${facts === null ? '' : ` with ${describeLogin(facts)}`}.\n`);
  const stronger = overridesLogin(config);
  world.say(
    stronger === null
      ? 'A running server uses the login without a restart.\n'
      : `${stronger} is set and takes precedence over the login.\n`,
  );
  return 0;
};

const codexFlags = (flags: Flags): readonly string[] => {
  if (flags.has('with-access-token')) return ['--with-access-token'];
  return flags.has('device') ? ['--device-auth'] : [];
};

export const logout: RunCommand = async (_flags, world) => {
  const options = await signInOptions(world);
  const code = await signOut(options);
  world.say(
    code === 0
      ? `No login is left in ${options.loginHome}.\n`
      : `Still signed in: delete ${options.loginHome}/auth.json to sign out on this machine only.\n`,
  );
  if (options.config.upstream.accessToken !== null)
    world.say('CODEX_ACCESS_TOKEN is still set: a server with this environment uses it.\n');
  return code;
};

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
