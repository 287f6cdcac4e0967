import type { Client } from './client.ts';
import { claude } from './clients/claude.ts';
import { cline } from './clients/cline.ts';
import { codex } from './clients/codex.ts';
import { continueDev } from './clients/continue.ts';
import { copilotCli } from './clients/copilot-cli.ts';
import { env } from './clients/env.ts';
import { opencode } from './clients/opencode.ts';
import { pi } from './clients/pi.ts';
import { qwenCode } from './clients/qwen-code.ts';

/** All clients by the name that users type. The command and the pages in `docs/clients` are made from this table. */
export const CLIENTS = {
  claude,
  codex,
  opencode,
  cline,
  continue: continueDev,
  'copilot-cli': copilotCli,
  'qwen-code': qwenCode,
  pi,
  env,
} as const satisfies Record<string, Client>;

export type ConnectClientName = keyof typeof CLIENTS;
