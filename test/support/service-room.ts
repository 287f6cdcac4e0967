import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { PlainError } from '../../src/cli/explain.ts';
import { serviceOn } from '../../src/cli/service.ts';
import type { FoundProgram } from '../../src/cli/service/task.ts';
import { noProgress } from './no-progress.ts';

interface Given {
  readonly platform?: string;
  readonly program?: Partial<FoundProgram>;
  readonly answer?: boolean | null;
  readonly environment?: Readonly<Record<string, string>>;
}

/** A user's home with service managers that are scripts, and a server that answers while the file `running` exists. */
export const openServiceRoom = async () => {
  const home = mkdtempSync(path.join(tmpdir(), 'service-command-'));
  mkdirSync(path.join(home, 'bin'));
  const at = (...names: readonly string[]): string => path.join(home, ...names);
  const server = createServer((_request, response) => {
    response.end(existsSync(at('running')) ? '{"status":"ready"}' : 'no');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  /** Puts a program on the PATH. It notes its words in the file `calls`; the lines are those of a shell. */
  const putTool = (name: string, lines: string): void => {
    const file = at('bin', name);
    writeFileSync(file, `#!/bin/sh\ncd ${home}\necho "${name} $*" >> calls\n${lines}\n`);
    chmodSync(file, 0o755);
  };

  /** A manager in which the service starts and stops. */
  const putSystemd = (): void => {
    putTool(
      'systemctl',
      `case "$2" in
  restart) touch running;;
  disable) rm -f running;;
  show)
    if [ -e running ]; then printf 'MainPID=42\\nResult=success\\nActiveState=active\\nSubState=running\\nUnitFileState=enabled\\n'
    else printf 'MainPID=0\\nResult=success\\nActiveState=inactive\\nSubState=dead\\nUnitFileState=\\n'; fi;;
  esac`,
    );
    putTool('loginctl', 'echo Linger=no');
  };

  const calls = (): readonly string[] =>
    existsSync(at('calls')) ? readFileSync(at('calls'), 'utf8').trim().split('\n') : [];

  const run = async (
    action: string,
    flags: readonly string[] = [],
    { platform = 'linux', program = {}, answer = null, environment = {} }: Given = {},
  ) => {
    const said = { out: '', err: '', asked: [] as string[] };
    const service = serviceOn(() => ({
      platform,
      user: { home, id: 1000, name: 'ann' },
      program: {
        node: process.execPath,
        script: at('bin/codex-app-server-proxy.js'),
        refusal: null,
        warnings: [],
        ...program,
      },
    }));
    const world = {
      environment: {
        HOME: home,
        PATH: `${home}/bin:/usr/bin:/bin`,
        PORT: String(port),
        PROXY_STATE_DIR: at('state'),
        ...environment,
      },
      out: (text: string) => void (said.out += text),
      say: (text: string) => void (said.err += text.replaceAll(home, '~')),
      confirm: async (question: string) => {
        said.asked.push(question.replaceAll(home, '~'));
        return answer;
      },
      progress: noProgress,
    };
    try {
      return { code: await service(new Map(flags.map((flag) => [flag, ''])), world, [action]), ...said };
    } catch (error) {
      if (!(error instanceof PlainError)) throw error;
      return { code: 'refused', ...said, err: error.message.replaceAll(home, '~') };
    }
  };

  return {
    home,
    port,
    at,
    putTool,
    putSystemd,
    calls,
    run,
    close() {
      server.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
};
