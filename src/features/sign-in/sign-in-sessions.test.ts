import { access, chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { ISSUED, startLoginIssuer, type LoginIssuer } from '../../../test/support/login-issuer.ts';
import { failureOf } from '../../canonical/failure/failure.ts';
import { systemAmbient } from '../../kit/ambient.ts';
import { findCodexBinary } from '../../codex/binary.ts';
import { readLogin } from '../../codex/login/read-login.ts';
import { SignInSessions, type SignInSession, type SignInSessionsOptions } from './sign-in-sessions.ts';

let issuer: LoginIssuer;
let root: string;
let ended: SignInSession[];
let changes: number;
let options: SignInSessionsOptions;
let open: SignInSessions[];

beforeEach(async () => {
  issuer = await startLoginIssuer();
  root = await mkdtemp(path.join(tmpdir(), 'sign-in-sessions-'));
  ended = [];
  changes = 0;
  open = [];
  options = {
    binary: findCodexBinary(),
    stateDir: path.join(root, 'state'),
    loginHome: path.join(root, 'login'),
    login: { collect: async () => {} },
    environment: { PATH: process.env['PATH'], HOME: path.join(root, 'user'), ...issuer.environment },
    clientInfo: { name: 'test', title: null, version: '0' },
    ambient: systemAmbient,
    onChange: async () => {
      changes += 1;
    },
    onTrouble: () => {},
    onEnd: (session) => ended.push(session),
  };
});

afterEach(async () => {
  await Promise.all(open.map((sessions) => sessions.close()));
  expect(await readdir(path.join(options.stateDir, 'run')).catch(() => [])).toEqual([]);
  issuer.close();
  await rm(root, { recursive: true, force: true });
});

const sessionsWith = (more: Partial<SignInSessionsOptions> = {}): SignInSessions => {
  const sessions = new SignInSessions({ ...options, ...more });
  open.push(sessions);
  return sessions;
};
const authFile = (): string => path.join(options.loginHome, 'auth.json');
const auth = (): Promise<string | null> => readFile(authFile(), 'utf8').catch(() => null);
const endOf = async (): Promise<SignInSession | undefined> => {
  await expect.poll(() => ended.length, { timeout: 20_000 }).toBe(1);
  return ended[0];
};
const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => `${failureOf(error).code}: ${failureOf(error).message}`,
  );

describe('with the real codex', () => {
  it('signs in with a device code, once the user has entered it', async () => {
    issuer.isApproved = false;
    const sessions = sessionsWith();
    const started = await sessions.start('device');
    expect(started).toEqual({
      id: expect.stringMatching(/^login_/),
      method: 'device',
      status: 'pending',
      verificationUrl: `${issuer.url}/codex/device`,
      userCode: 'CODE-12345',
      authUrl: null,
      error: null,
      createdAt: expect.any(Number),
      expiresAt: started.createdAt + 15 * 60_000,
    });
    expect(await codeOf(sessions.start('device'))).toContain('sign_in_pending');
    issuer.isApproved = true;
    // It cannot reach the service of the account, which does not matter.
    expect(await endOf()).toEqual({ ...started, status: 'succeeded' });
    expect(sessions.list()).toEqual(ended);
    expect(readLogin((await auth()) ?? '')).toMatchObject({ kind: 'chatgpt', plan: 'plus' });
    expect([changes, await readdir(options.loginHome)]).toEqual([1, ['auth.json']]);
    expect(JSON.stringify(ended)).not.toContain(ISSUED.refresh_token);
  });

  it('signs in with a browser on this machine, and says if only its success page was opened', async () => {
    const sessions = sessionsWith();
    const first = await sessions.start('browser');
    const redirect = new URL(new URL(first.authUrl ?? '').searchParams.get('redirect_uri') ?? '');
    await fetch(new URL('/success', redirect));
    expect(await endOf()).toEqual({
      ...first,
      status: 'failed',
      error:
        'The success page was opened before the sign-in was complete. Start again, or sign in with a device code.',
    });
    ended.length = 0;
    const { authUrl } = await sessions.start('browser');
    const state = new URL(authUrl ?? '').searchParams.get('state') ?? '';
    await fetch(`${redirect.href}?code=a&state=${state}`);
    expect(await endOf()).toMatchObject({ status: 'succeeded', error: null });
    expect(readLogin((await auth()) ?? '')).toMatchObject({ kind: 'chatgpt', account: 'a***@example.com' });
  });

  it('keeps the old login if the new sign-in is cancelled, expires, or cannot begin', async () => {
    issuer.isApproved = false;
    await mkdir(options.loginHome);
    await writeFile(authFile(), '{"OPENAI_API_KEY":"sk-old"}');
    const sessions = sessionsWith();
    const { id } = await sessions.start('device');
    expect(sessions.cancel(id)).toMatchObject({ id, status: 'cancelled', userCode: 'CODE-12345' });
    expect(sessions.cancel(id)).toMatchObject({ status: 'cancelled' });
    const hasty = sessionsWith({ timeLimitMs: 50 });
    const late = await hasty.start('device');
    await expect.poll(() => hasty.find(late.id).status).toBe('expired');
    issuer.close();
    expect(await codeOf(sessions.start('device'))).toMatch(
      /^sign_in_failed: The sign-in could not be started: .*device code.* set HTTPS_PROXY/,
    );
    expect([await auth(), changes]).toEqual(['{"OPENAI_API_KEY":"sk-old"}', 0]);
    expect(await codeOf(Promise.resolve().then(() => sessions.find('login_x')))).toBe(
      "unknown_sign_in: Sign-in with id 'login_x' not found.",
    );
  });

  it('signs out: the login is revoked at its issuer and removed', async () => {
    const sessions = sessionsWith();
    await sessions.start('device');
    await endOf();
    await sessions.signOut();
    expect([issuer.asked.at(-1), await auth(), changes]).toEqual(['/oauth/revoke', null, 2]);
    // There is nothing to do.
    await sessions.signOut();
    expect(changes).toBe(2);
  });

  it('ends with the server', async () => {
    issuer.isApproved = false;
    const sessions = sessionsWith();
    await sessions.start('device');
    await sessions.close();
    expect(ended).toEqual([expect.objectContaining({ status: 'cancelled' })]);
    expect(await codeOf(sessions.start('device'))).toContain('shutting_down');
  });

  it('says that the login cannot be saved', async () => {
    await writeFile(options.loginHome, 'a file in the place of the folder');
    const sessions = sessionsWith();
    await sessions.start('device');
    expect(await endOf()).toMatchObject({
      status: 'failed',
      error: expect.stringContaining(`The login could not be saved in ${options.loginHome}: E`),
    });
  });
});

/** A codex that answers calls as the script says: `answer` by method, else it stays silent. */
const fakeCodex = async (answers: string): Promise<Partial<SignInSessionsOptions>> => {
  const file = path.join(root, 'codex.cjs');
  const script = `#!${process.execPath}
    const say = (message) => process.stdout.write(JSON.stringify(message) + '\\n');
    const answers = ${answers};
    require('node:readline').createInterface({ input: process.stdin })
      .on('line', (line) => { const { id, method } = JSON.parse(line); answers[method]?.(id); })
      .on('close', () => process.exit(0));`;
  await writeFile(file, script);
  await chmod(file, 0o700);
  await access(file);
  return { binary: { path: file, version: '0' } };
};

const INITIALIZE = 'initialize: (id) => say({ id, result: {} })';
const DEVICE =
  "say({ id, result: { type: 'chatgptDeviceCode', loginId: 'l', verificationUrl: 'https://v', userCode: 'C' } })";

describe('with a codex that misbehaves', () => {
  it('fails if codex hangs at its start, or does not answer', async () => {
    const silent = sessionsWith({ ...(await fakeCodex('{}')), initializeTimeoutMs: 50 });
    expect(await codeOf(silent.start('device'))).toBe(
      'sign_in_failed: The sign-in could not be started: the codex process did not start. The log of the server says why.',
    );
    const deaf = sessionsWith({ ...(await fakeCodex(`{ ${INITIALIZE} }`)), requestTimeoutMs: 50 });
    expect(await codeOf(deaf.start('device'))).toContain('codex did not answer in time.');
    await mkdir(options.loginHome);
    await writeFile(authFile(), '{}');
    expect(await codeOf(deaf.signOut())).toBe(
      `sign_out_failed: Still signed in: the app-server did not answer account/logout within 50 ms. Delete ${authFile()} to sign out on this machine only.`,
    );
    expect(await auth()).toBe('{}');
  });

  it('fails if codex ends before the user has signed in', async () => {
    const sessions = sessionsWith(
      await fakeCodex(
        `{ ${INITIALIZE}, 'account/login/start': (id) => { ${DEVICE}; setTimeout(process.exit, 20) } }`,
      ),
    );
    await sessions.start('device');
    expect(await endOf()).toMatchObject({
      status: 'failed',
      error: 'The codex process ended before the sign-in was complete. Start again.',
    });
  });

  it('reports why the issuer refused, without tokens, even if that comes with the answer', async () => {
    const completed = `say({ method: 'account/login/completed', params: { loginId: 'l', success: false, error: 'no: ${ISSUED.access_token} rt_abcdefgh' } })`;
    const sessions = sessionsWith(
      await fakeCodex(`{ ${INITIALIZE}, 'account/login/start': (id) => { ${DEVICE}; ${completed} } }`),
    );
    await sessions.start('device');
    expect(await endOf()).toMatchObject({ status: 'failed', error: 'no: *** rt_***.' });
  });

  it('is stopped with the server while it starts, and while it is asked', async () => {
    const runs = (): Promise<readonly string[]> =>
      readdir(path.join(options.stateDir, 'run')).catch(() => []);
    const asked = path.join(root, 'asked');
    const writes = `require('node:fs').writeFileSync(${JSON.stringify(asked)}, '')`;
    const never = { initializeTimeoutMs: 60_000, requestTimeoutMs: 60_000 };
    const answers = [
      `{ initialize: (id) => { ${writes}; setTimeout(() => say({ id, result: {} }), 200) } }`,
      `{ ${INITIALIZE}, 'account/login/start': () => ${writes} }`,
    ];
    for (const answer of answers) {
      await rm(asked, { force: true });
      const sessions = sessionsWith({ ...(await fakeCodex(answer)), ...never });
      const refused = codeOf(sessions.start('device'));
      await expect
        .poll(
          () =>
            access(asked).then(
              () => true,
              () => false,
            ),
          { timeout: 20_000 },
        )
        .toBe(true);
      await sessions.close();
      expect(await runs()).toEqual([]);
      expect(await refused).toMatch(/^(?:shutting_down|sign_in_failed): /);
    }
  });

  it('cannot send users to an address that is not one of a web page', async () => {
    const hostile = DEVICE.replace('https://v', 'javascript:alert(1)');
    const sessions = sessionsWith(
      await fakeCodex(`{ ${INITIALIZE}, 'account/login/start': (id) => ${hostile} }`),
    );
    expect(await codeOf(sessions.start('device'))).toContain('sign_in_failed');
    expect(sessions.list()).toEqual([]);
  });
});
