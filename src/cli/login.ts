import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { readLogin } from '../codex/login/read-login.ts';
import { signIn, signOut } from '../codex/login/sign-in.ts';
import { overridesLogin } from '../compose/sign-ins.ts';
import type { Flags, Run } from './read-command-line.ts';
import { describeLogin, signInOptions } from './login-home.ts';

/** The exit code of a program ended by Ctrl-C. */
const INTERRUPTED = 130;

/** codex names the URL that it could not reach, but not the remedy. */
const NETWORK =
  'If auth.openai.com could not be reached: set HTTPS_PROXY, and SSL_CERT_FILE for certificates.\n';

export const login: Run = async (flags, world) => {
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

export const logout: Run = async (_flags, world) => {
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
