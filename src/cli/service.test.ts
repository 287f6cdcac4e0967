import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { openServiceRoom } from '../../test/support/service-room.ts';

type Room = Awaited<ReturnType<typeof openServiceRoom>>;

let room: Room;
beforeEach(async () => {
  room = await openServiceRoom();
});
afterEach(() => room.close());

const run: Room['run'] = (...given) => room.run(...given);

const unit = () => room.at('.config/systemd/user/codex-app-server-proxy.service');

describe('service install', () => {
  it('shows the unit and writes nothing without a yes', async () => {
    room.putSystemd();
    for (const [answer, end] of [
      [null, 'Nothing was changed: without a terminal, add --yes.\n'],
      [false, 'Nothing was changed.\n'],
    ] as const) {
      const { code, out, err, asked } = await run('install', [], { answer });
      expect([code, out, asked]).toEqual([1, '', ['Write this systemd user unit, and start the service?']]);
      expect(err).toMatch(
        /^~\/\.config\/systemd\/user\/codex-app-server-proxy\.service \(new\)\n\+ # Written/,
      );
      expect(err).toContain(`+ Environment="PORT=${room.port}"\n`);
      expect(err.endsWith(end)).toBe(true);
    }
    expect([existsSync(unit()), room.calls()]).toEqual([false, []]);
  });

  it('writes the unit, starts it, and waits until the server answers', async () => {
    room.putSystemd();
    expect(await run('install', [], { answer: true })).toMatchObject({
      code: 0,
      err: expect.stringContaining(
        `The service runs: http://127.0.0.1:${room.port}\nIts log: journalctl --user --unit codex-app-server-proxy --follow\nRemove it: `,
      ),
    });
    expect(room.calls().filter((call) => !call.includes(' show '))).toEqual([
      'systemctl --user daemon-reload',
      'systemctl --user reset-failed codex-app-server-proxy.service',
      'systemctl --user enable codex-app-server-proxy.service',
      'systemctl --user restart codex-app-server-proxy.service',
      'loginctl show-user ann --property=Linger',
    ]);
    expect(statSync(unit()).mode & 0o777).toBe(0o600);
    // The log of the service must not show the key.
    expect(statSync(room.at('state/api-key')).mode & 0o777).toBe(0o600);
    // Again: nothing to ask.
    const again = await run('install');
    expect(again).toMatchObject({ code: 0, asked: [] });
    expect(again.err).toContain('To keep it running: loginctl enable-linger\n');
  });

  it('shows only the difference to the unit of an earlier installation', async () => {
    room.putSystemd();
    await run('install', ['yes']);
    const { err } = await run('install', [], { environment: { PROXY_WIRE: 'off' } });
    expect(err).toContain('+ Environment="PROXY_WIRE=off"\n');
    expect(err).not.toContain('+ ExecStart');
  });

  it('says what to run where no manager answers, or none is installed', async () => {
    room.putTool('systemctl', 'echo "Failed to connect to bus: No medium found" >&2; exit 1');
    const { code, err } = await run('install', ['yes']);
    expect(code).toBe(1);
    expect(err).toContain(
      '~/.config/systemd/user/codex-app-server-proxy.service is written, but the service could not be started:\n' +
        '  systemctl --user daemon-reload: Failed to connect to bus: No medium found\n',
    );
    expect(err).toContain('  systemctl --user enable codex-app-server-proxy.service\n');
    expect(err).toContain(`  ${process.execPath} ~/bin/codex-app-server-proxy.js\n`);
    const none = await run('install', ['yes'], { environment: { PATH: room.at('empty') } });
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining('there is no systemctl here') });
  });

  it('reports a service that fails at once', async () => {
    room.putSystemd();
    room.putTool(
      'systemctl',
      `[ "$2" = show ] && printf 'ActiveState=failed\\nSubState=failed\\nResult=exit-code\\n'; exit 0`,
    );
    expect(await run('install', ['yes'])).toMatchObject({
      code: 1,
      err: expect.stringContaining(
        'the server is not ready (failed (failed), exit-code). Its log: journalctl',
      ),
    });
  });

  it('refuses a program that will vanish, one that systemd cannot run, and a busy port', async () => {
    room.putSystemd();
    const refused = { program: { refusal: 'This copy is in a cache.' } };
    expect(await run('install', ['yes'], refused)).toMatchObject({
      code: 'refused',
      err: 'This copy is in a cache.',
    });
    expect(await run('install', ['yes'], { program: { node: "/ann's/node" } })).toMatchObject({
      code: 'refused',
      err: "systemd runs no program with quotes or backslashes in its path: /ann's/node",
    });
    writeFileSync(room.at('running'), '');
    room.putTool('systemctl', 'exit 1');
    expect(await run('install', ['yes'])).toMatchObject({
      code: 'refused',
      err: `A server runs at http://127.0.0.1:${room.port} already: stop it, or set PORT to another port.`,
    });
    expect(existsSync(unit())).toBe(false);
    const printed = await run('install', ['print'], refused);
    expect(printed).toMatchObject({ code: 0, err: expect.stringContaining('This copy is in a cache.\n') });
    expect(printed.out).toContain('[Service]\n');
  });

  it('does not replace or remove a unit that it did not write', async () => {
    room.putSystemd();
    mkdirSync(path.dirname(unit()), { recursive: true });
    writeFileSync(unit(), '[Service]\nExecStart=/usr/bin/mine\n');
    expect(await run('install', ['yes'])).toMatchObject({
      code: 'refused',
      err: '~/.config/systemd/user/codex-app-server-proxy.service was not written by this command: move it away first.',
    });
    expect(await run('uninstall', ['yes'])).toMatchObject({
      code: 'refused',
      err: '~/.config/systemd/user/codex-app-server-proxy.service was not written by this command, and stays.',
    });
    expect(JSON.parse((await run('status', ['json'])).out)).toMatchObject({ installed: 'foreign' });
    expect(readFileSync(unit(), 'utf8')).toContain('/usr/bin/mine');
  });
});

describe('service uninstall', () => {
  it('stops the service and removes the unit and its link, once', async () => {
    room.putSystemd();
    await run('install', ['yes']);
    const link = path.join(path.dirname(unit()), 'default.target.wants/codex-app-server-proxy.service');
    mkdirSync(path.dirname(link));
    symlinkSync(unit(), link);
    rmSync(room.at('calls'));
    expect(await run('uninstall')).toMatchObject({
      code: 1,
      asked: ['Stop the service and remove ~/.config/systemd/user/codex-app-server-proxy.service?'],
    });
    expect([existsSync(unit()), room.calls()]).toEqual([true, []]);
    expect(await run('uninstall', ['yes'])).toMatchObject({
      code: 0,
      err: 'The service is removed. Settings, keys and stored responses stay in the state directory.\n',
    });
    expect(room.calls().slice(0, -1)).toEqual([
      'systemctl --user disable --now codex-app-server-proxy.service',
      'systemctl --user daemon-reload',
      'systemctl --user reset-failed codex-app-server-proxy.service',
    ]);
    expect([existsSync(unit()), lstatSync(link, { throwIfNoEntry: false })]).toEqual([false, undefined]);
    expect(await run('uninstall', ['yes'])).toMatchObject({
      code: 0,
      err: 'There is no service: ~/.config/systemd/user/codex-app-server-proxy.service does not exist.\n',
    });
  });
});

describe('service status', () => {
  it('describes a service that runs, at the address of its own settings', async () => {
    room.putSystemd();
    await run('install', ['yes']);
    const { code, out } = await run('status', ['json'], { environment: { PORT: '1' } });
    expect({ code, ...JSON.parse(out) }).toEqual({
      code: 0,
      manager: 'systemd',
      file: unit(),
      installed: true,
      enabled: true,
      running: true,
      pid: 42,
      state: 'active (running)',
      missing: [room.at('bin/codex-app-server-proxy.js')],
      url: `http://127.0.0.1:${room.port}`,
      server: 'ready',
      lingers: false,
      problem: null,
    });
    const shown = await run('status');
    expect(shown.out).toContain('service     runs, process 42\n');
    expect(shown.out).toContain(`server      http://127.0.0.1:${room.port}: ready\n`);
    expect(shown.out).toContain(`missing     ${room.home}/bin/codex-app-server-proxy.js: run `);
  });

  it('describes a service that is not installed', async () => {
    const { code, out } = await run('status', ['json']);
    expect({ code, ...JSON.parse(out) }).toMatchObject({ code: 1, installed: false, running: false });
    expect((await run('status')).out).toMatch(/^There is no service\. Install it: .*service/);
  });
});

describe('on macOS', () => {
  it('writes an agent, loads it again, and removes it', async () => {
    room.putTool(
      'launchctl',
      `case "$1" in
bootstrap) [ -e busy ] && { rm busy; echo "Bootstrap failed: 5: Input/output error" >&2; exit 5; }; touch running;;
bootout) rm -f running;;
print) [ -e running ] || { echo "Could not find service" >&2; exit 113; }; printf '\\tstate = running\\n\\tpid = 77\\n\\tlast exit code = (never exited)\\n';;
esac`,
    );
    // An earlier process still ends.
    writeFileSync(room.at('busy'), '');
    const darwin = { platform: 'darwin' };
    const file = room.at('Library/LaunchAgents/codex-app-server-proxy.plist');
    const installed = await run('install', ['yes'], darwin);
    expect(installed).toMatchObject({ code: 0 });
    expect(installed.err).toContain('Its log: tail -f ~/Library/Logs/codex-app-server-proxy.log\n');
    expect(room.calls().filter((call) => !call.includes(' print '))).toEqual([
      'launchctl bootout gui/1000/codex-app-server-proxy',
      'launchctl enable gui/1000/codex-app-server-proxy',
      `launchctl bootstrap gui/1000 ${file}`,
      `launchctl bootstrap gui/1000 ${file}`,
    ]);
    const { out } = await run('status', ['json'], darwin);
    expect(JSON.parse(out)).toMatchObject({
      manager: 'launchd',
      file,
      installed: true,
      running: true,
      pid: 77,
      state: 'running, last exit code (never exited)',
      server: 'ready',
      lingers: null,
    });
    expect(await run('uninstall', ['yes'], darwin)).toMatchObject({ code: 0 });
    expect(existsSync(file)).toBe(false);
  });
});

it.each([
  ['status', 'yes'],
  ['uninstall', 'print'],
  ['install', 'json'],
])('%s rejects --%s', async (action, flag) => {
  expect(await run(action, [flag])).toMatchObject({
    code: 2,
    err: `--${flag} has no meaning with service ${action}. See codex-app-server-proxy --help.\n`,
  });
});

it('says on other systems what to use', async () => {
  expect(await run('install', ['yes'], { platform: 'win32' })).toMatchObject({
    code: 'refused',
    err: expect.stringContaining('not supported on Windows. Let the Task Scheduler run "'),
  });
  expect(await run('status', [], { platform: 'freebsd' })).toMatchObject({ code: 'refused' });
});
