import { findCodexBinary, openCodexBinary, versionOutput } from '../../codex/binary.ts';
import { demoScript } from '../../demo/demo-script.ts';
import { startModelServer } from '../../demo/model-server.ts';
import { ConfigError } from '../../config/load.ts';
import { objectsIn, textIn, type JsonObject } from '../../kit/json/json.ts';
import { HARMLESS_WARNING, versionMismatch, type CodexReport } from '../../observe/codex-watch.ts';
import { TESTED_CODEX } from '../../version.ts';
import { loadSettings, addressOf, type ListenAddress } from '../explain.ts';
import { ok, problem, warning, type Check, type Finding, skipped } from './finding.ts';
import { startProbe } from './probe.ts';
import { tinyTurn } from './turns.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const VERSIONS = 'docs/operating.md, "Codex versions", says which versions work';

/** The codex binary, and whether it is the version that was tested. */
export const codexCheck = (environment: Environment): Check => ({
  name: 'codex',
  limitMs: 20_000,
  run: async (signal) => {
    const chosen = await chosenBinary(environment);
    if (chosen === null) {
      try {
        findCodexBinary();
      } catch (error) {
        return problem((error as Error).message, 'install again, with optional dependencies');
      }
    }
    const binary = await openCodexBinary(chosen, signal).catch((error: unknown) => error as Error);
    if (binary instanceof Error) return problem(binary.message, VERSIONS);
    const stdout = await versionOutput(binary.path, signal);
    const says = `${stdout.trim()}, ${binary.path}`;
    const facts = { version: binary.version, path: binary.path };
    if (!stdout.includes(binary.version))
      return warning(says, `the package contains ${binary.version}: install again`, facts);
    const mismatch = versionMismatch({ tested: TESTED_CODEX, runs: binary.version });
    return mismatch === null ? ok(says, facts) : warning(`${says}; ${mismatch}`, VERSIONS, facts);
  },
});

/** Null if there is none; invalid settings are reported by their own check. */
const chosenBinary = async (environment: Environment): Promise<string | null> => {
  try {
    return (await loadSettings(environment)).codex.binary;
  } catch (error) {
    if (error instanceof ConfigError) return null;
    throw error;
  }
};

/** Pure. What codex said at its start, and whether it could start a thread. */
export const judgeCodex = (report: CodexReport, isReady: boolean): Finding => {
  const relevant = report.warnings.filter((text) => !HARMLESS_WARNING.test(text));
  const mismatch = versionMismatch(report);
  const harmless = report.warnings.length - relevant.length;
  const says = [
    isReady ? `starts, codex ${report.runs ?? 'of an unknown version'}` : 'codex starts no thread',
    ...(mismatch === null ? [] : [mismatch]),
    ...relevant.map((text) => `codex says: ${text}`),
    ...(harmless === 0 ? [] : ['codex has not found bubblewrap, and uses the one that it brings along']),
  ].join('\n');
  const facts = { ...report };
  if (!isReady) return problem(says, VERSIONS, facts);
  if (relevant.length > 0 || mismatch !== null) return warning(says, VERSIONS, facts);
  return ok(says, facts);
};

/**
 * Shows what codex adds to a request by itself: a release may rename a switch of our configuration, or bring a new tool.
 * The request goes to a model server in this process, without the relay, which removes such tools.
 */
export const promptCheck = (environment: Environment, limitMs: number): Check => ({
  name: 'prompt',
  limitMs,
  run: async (signal) => {
    const { upstream } = await loadSettings(environment);
    const model = await startModelServer({ script: demoScript(), keepRequests: 1 });
    try {
      const probe = await startProbe(environment, {
        PROXY_UPSTREAM_BASE_URL: model.baseUrl,
        // Nothing checks it.
        PROXY_UPSTREAM_API_KEY: 'none',
        PROXY_WIRE: 'off',
      });
      try {
        await probe.ask(tinyTurn({ effort: null }), signal);
      } finally {
        await probe.stop();
      }
      return judgePrompt(model.requests[0]?.body ?? null, upstream.wire);
    } finally {
      await model.close();
    }
  },
});

/** Pure. Does the model see only what the client sent, which is one message? */
export const judgePrompt = (body: JsonObject | null, wire: 'on' | 'off'): Finding => {
  if (body === null) return problem('codex sent no request to a model server in this process', VERSIONS);
  const items = objectsIn(body, 'input');
  const isTools = (item: JsonObject): boolean => item['type'] === 'additional_tools';
  const tools = [
    ...objectsIn(body, 'tools'),
    ...items.filter(isTools).flatMap((item) => objectsIn(item, 'tools')),
  ];
  const names = tools.map((tool) => textIn(tool, 'name') || textIn(tool, 'type'));
  const messages = items.filter((item) => !isTools(item)).length - 1;
  const hasInstructions = textIn(body, 'instructions') !== '';
  const added = [
    ...(names.length === 0 ? [] : [`the tools ${names.join(', ')}`]),
    ...(messages <= 0 ? [] : [`${messages} ${messages === 1 ? 'message' : 'messages'}`]),
    ...(hasInstructions ? ['instructions'] : []),
  ].join(', ');
  if (added === '') return ok('codex adds nothing to a request');
  return wire === 'on'
    ? warning(`codex adds to every request: ${added}; the relay removes it`, VERSIONS, { tools: names })
    : warning(
        `codex adds to every request: ${added}; the model sees it, because PROXY_WIRE=off`,
        `set PROXY_WIRE=on, or run codex ${TESTED_CODEX}`,
        { tools: names },
      );
};

/** Checks whether this server is running at the address, and its health. */
export const serverCheck = ({ host, port }: ListenAddress): Check => ({
  name: 'server',
  limitMs: 5_000,
  run: async (signal) => {
    if (port === 0) return skipped('PORT=0: each start takes a free port');
    const url = addressOf({ host, port });
    const answer = await fetch(`${url}/readyz?backend`, { signal }).catch(() => null);
    if (answer === null) return ok(`no server is running at ${url}`, { running: false });
    const text = await answer.text();
    const said = /"status":"(ready|not ready)"/.exec(text)?.[1];
    if (said === undefined)
      return warning(`another program answers at ${url}`, 'set PORT to another port', { running: false });
    const trouble = /"reason":"([a-z]+)"/.exec(text)?.[1];
    const facts = { running: true, ready: said === 'ready', trouble: trouble ?? null };
    if (said === 'ready') return ok(`running at ${url}`, facts);
    const why = trouble === undefined ? 'is not ready' : `reports that its backend is ${trouble}`;
    return warning(`the server at ${url} ${why}`, 'see the lines below, and its log', facts);
  },
});
