import path from 'node:path';

import { exists } from '../../codex/home/files.ts';
import { readLoginFile } from '../../codex/home/login-file.ts';
import { readLogin, type LoginFacts } from '../../codex/login/read-login.ts';
import type { Config } from '../../config/schema.ts';
import { describeLogin } from '../describe-login.ts';
import { loginHomeOf } from '../login-home.ts';
import { ok, problem, skipped, warning, type Check, type Finding } from './finding.ts';
import { isOpenToOthers } from './machine.ts';
import { shownTime } from './shown-time.ts';

export interface LoginCheckOptions {
  readonly config: Config;
  readonly now: Date;
  /** The command that signs in. */
  readonly loginCommand: string;
}

export const loginCheck = ({ config, now, loginCommand }: LoginCheckOptions): Check => ({
  name: 'login',
  limitMs: 5_000,
  run: async () => {
    if (config.upstream.baseUrl !== null) return skipped('not needed: PROXY_UPSTREAM_BASE_URL is set');
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
    return judgeLogin(facts, { now, signIn });
  },
});

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
