import { signOut } from '../codex/login/sign-in.ts';
import type { Run } from './command.ts';
import { signInOptions } from './login-home.ts';

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
