import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
const BINARY = join(
  createRequire(createRequire(import.meta.url).resolve('@openai/codex/package.json')).resolve(
    '@openai/codex-linux-x64/package.json',
  ),
  '../vendor/x86_64-unknown-linux-musl/bin/codex',
);

/** Without this the newer models wrap all tools in one of their own, and calls never reach us. */
const catalogue = (environment: NodeJS.ProcessEnv): string => {
  const known = JSON.parse(
    execFileSync(BINARY, ['debug', 'models', '--bundled'], {
      env: environment,
      maxBuffer: 16 * 1024 * 1024,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  );
  for (const model of known.models) {
    Object.assign(model, {
      tool_mode: 'direct',
      apply_patch_tool_type: null,
      experimental_supported_tools: [],
      supports_search_tool: false,
      multi_agent_version: null,
      shell_type: 'disabled',
      base_instructions: '',
      model_messages: null,
    });
  }
  return JSON.stringify(known);
};
const config = (baseUrl: string, home: string): string => `
model_provider = "scripted"
web_search = "disabled"
include_permissions_instructions = false
include_environment_context = false
check_for_update_on_startup = false
project_doc_max_bytes = 0
model_catalog_json = "${join(home, 'catalogue.json')}"
[model_providers.scripted]
name = "scripted"
base_url = "${baseUrl}"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
[skills]
include_instructions = false
bundled.enabled = false
[features]
shell_tool = false
unified_exec = false
apps = false
plugins = false
[analytics]
enabled = false
`;
export interface Note {
  readonly id?: number;
  readonly method: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- the tests read a few fields of many shapes
  readonly params: any;
}

export interface BareCodex {
  readonly home: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- see Note
  call(method: string, params: object): Promise<any>;
  close(): Promise<void>;
}

/** How a test sets it up in its own way. */
export interface BareSetUp {
  readonly clientInfo: { readonly name: string; readonly title: string | null; readonly version: string };
  /** Writes the configuration into its home. */
  readonly fill: (home: string) => Promise<void>;
  readonly environment: (home: string) => Readonly<Record<string, string>>;
}

/** A provider with a Responses API, and as little of codex's own as its settings allow. */
export const bareConfig = async (baseUrl: string, home: string): Promise<void> => {
  writeFileSync(join(home, 'catalogue.json'), catalogue(environmentOf(home)));
  writeFileSync(join(home, 'config.toml'), config(baseUrl, home));
};

const environmentOf = (home: string): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  HOME: home,
  CODEX_HOME: home,
});

const ofProvider = (baseUrl: string): BareSetUp => ({
  clientInfo: { name: 'test', title: 'test', version: '1' },
  fill: (home) => bareConfig(baseUrl, home),
  environment: () => ({}),
});

/** The real app-server with a minimal client, so that a bug in ours cannot hide here. */
export const startBareCodex = async (
  how: string | BareSetUp,
  onNote: (note: Note) => void,
): Promise<BareCodex> => {
  const home = mkdtempSync(join(tmpdir(), 'demo-codex-'));
  const setUp = typeof how === 'string' ? ofProvider(how) : how;
  const env = { ...environmentOf(home), ...setUp.environment(home) };
  await setUp.fill(home);
  const codex = spawn(BINARY, ['app-server'], { env });
  codex.stderr.resume();
  const pending = new Map<number, (answer: Record<string, unknown>) => void>();
  createInterface({ input: codex.stdout }).on('line', (line) => {
    const message = JSON.parse(line);
    if (message.method === undefined) pending.get(message.id)?.(message);
    else onNote(message);
  });
  let nextId = 0;
  const call: BareCodex['call'] = async (method, params) => {
    nextId += 1;
    const id = nextId;
    const answered = new Promise<Record<string, unknown>>((resolve) => pending.set(id, resolve));
    codex.stdin.write(`${JSON.stringify({ id, method, params })}\n`);
    const answer = await answered;
    if (answer['error'] !== undefined) throw new Error(JSON.stringify(answer['error']));
    return answer['result'];
  };
  await call('initialize', {
    clientInfo: setUp.clientInfo,
    capabilities: { experimentalApi: true, requestAttestation: false },
  });
  codex.stdin.write('{"method":"initialized"}\n');
  return {
    home,
    call,
    async close() {
      const exited = new Promise((resolve) => codex.once('exit', resolve));
      codex.kill('SIGKILL');
      await exited;
      rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
};
